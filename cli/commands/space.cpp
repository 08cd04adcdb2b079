// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/kubeconfig_file.hpp"
#include "cli/options.hpp"
#include "cli/output/account_printer.hpp"
#include "cli/output/result.hpp"
#include "cli/who.hpp"

#include <CLI/CLI.hpp>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::cli {
namespace {

using nlohmann::json;

std::string path_of(std::string_view name) {
  return fmt::format("{}/{}", k_spaces_path, kube::percent_encode(name));
}

Result<json> read_space(Cluster& cluster, const std::string& name) {
  auto space = cluster.get(path_of(name));
  if (space) return space;
  return fail(
      suggest_name(cluster, space.error(), k_spaces_path, "space", name, "zooctl space list"));
}

struct SpaceCreate final : Command {
  std::string name, account, format, context_name;
  std::vector<std::string> labels, templates;
  bool dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("space", name, "The new space's name")->type_name("NAME")->required();
    app.add_option("--account", account,
                   "The account that owns it; may be left out by members of one account")
        ->type_name("ACCOUNT");
    add_repeated(app, "--label", labels, "A label of the space; may be repeated", "KEY=VALUE");
    add_repeated(app, "--template", templates,
                 "A template whose objects it has from the start; may be repeated", "TEMPLATE");
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl space create web\n"
                      "  zooctl space create web --account blue --template redis");
  }

  Result<int> run(Context& context) override {
    json space = {{"apiVersion", "tenancy.kiosk.sh/v1alpha1"},
                  {"kind", "Space"},
                  {"metadata", {{"name", name}}}};
    if (!account.empty()) space["spec"]["account"] = account;
    for (const auto& text : labels) {
      ZOO_TRY(const auto pair, option_pair("--label", text, "KEY=VALUE"));
      space["metadata"]["labels"][pair.first] = pair.second;
    }
    if (!templates.empty())
      space["metadata"]["annotations"]["zoo.kubezoo.io/templates"] =
          fmt::format("{}", fmt::join(templates, ","));
    context.patient(); // templates are waited for
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY(const auto made, cluster.create(k_spaces_path, space, dry_run));
    print_space_result(context, made, "created", dry_run, format_of(format));
    if (!dry_run) context.hint(fmt::format("Work in it: zooctl space use {}", name));
    return 0;
  }
};

struct SpaceList final : Command {
  std::string account, selector, format, context_name;
  bool mine = false, no_headers = false;

  void define(CLI::App& app) override {
    auto* of =
        app.add_option("--account", account, "Only spaces of this account")->type_name("ACCOUNT");
    app.add_flag("--mine", mine, "Only spaces of accounts that you are a member of")->excludes(of);
    app.add_option("-l,--selector", selector, "Only spaces with these labels: key=value,...")
        ->type_name("SELECTOR");
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_context_option(app, context_name);
    add_examples(app, "  zooctl space list\n  zooctl space list --account blue -o name");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    kube::Query query;
    if (!selector.empty()) query.emplace_back("labelSelector", selector);
    if (!account.empty()) query.emplace_back("fieldSelector", "spec.account=" + account);
    ZOO_TRY(auto list, cluster.list(k_spaces_path, query));
    if (mine) {
      ZOO_TRY(const auto me, who_am_i(cluster));
      ZOO_TRY(const auto accounts, accounts_of(cluster, me));
      json kept = json::array();
      for (auto& space : list["items"])
        if (std::find(accounts.begin(), accounts.end(), text_at(space, "/spec/account")) !=
            accounts.end())
          kept.push_back(std::move(space));
      list["items"] = std::move(kept);
    }
    print_spaces(context, list, {format_of(format), !no_headers});
    if (list["items"].empty())
      context.hint("There is no such space that you may see. Make one: zooctl space create NAME");
    return 0;
  }
};

struct SpaceDescribe final : Command {
  std::vector<std::string> names;
  std::string context_name;

  void define(CLI::App& app) override {
    app.add_option("space", names, "Names of spaces")->type_name("SPACE")->required();
    add_context_option(app, context_name);
    add_examples(app, "  zooctl space describe web");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    for (std::size_t i = 0; i < names.size(); ++i) {
      ZOO_TRY(const auto space, read_space(cluster, names[i]));
      if (i > 0) context.out << "\n\n";
      describe_space(context, space);
    }
    return 0;
  }
};

struct SpaceDelete final : Command {
  std::vector<std::string> names;
  std::string format, context_name;
  bool dry_run = false, ignore_not_found = false;

  void define(CLI::App& app) override {
    app.add_option("space", names, "Names of spaces")->type_name("SPACE")->required();
    app.add_flag("--ignore-not-found", ignore_not_found, "A space that is not there is no error");
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, "name");
    add_examples(app, "  zooctl space delete web");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    return for_all<std::string>(context, names, [&](const std::string& name) -> Result<void> {
      auto space = read_space(cluster, name);
      if (!space && ignore_not_found && space.error().code() == Code::not_found) return {};
      if (!space) return fail(std::move(space).error());
      ZOO_TRY(const auto answer, cluster.remove(path_of(name), dry_run));
      print_space_result(context, *space, dry_run ? "deleted" : "is being deleted", dry_run,
                         format_of(format));
      return {};
    });
  }
};

/// adopt and transfer: another owner.
struct SpaceOwner final : Command {
  explicit SpaceOwner(bool to_adopt) : adopts(to_adopt) {}

  bool adopts;
  std::string name, account, format, context_name;
  bool dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("space", name,
                   adopts ? "A namespace that no account owns" : "A space of another account")
        ->type_name("SPACE")
        ->required();
    app.add_option(adopts ? "--account" : "--to", account, "The account that is to own it")
        ->type_name("ACCOUNT")
        ->required();
    add_dry_run(app, dry_run);
    add_context_option(app, context_name);
    add_format_option(app, format, k_object_formats);
    add_examples(app, adopts ? "  zooctl space adopt old-app --account blue"
                             : "  zooctl space transfer web --to green");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY(const auto space, read_space(cluster, name));
    const auto owner = text_at(space, "/spec/account");
    if (owner == account) {
      print_space_result(context, space, "unchanged", dry_run, format_of(format));
      return 0;
    }
    if (adopts && !owner.empty())
      return fail(Code::conflict,
                  "account '{}' owns space '{}' already: `zooctl space transfer {} --to {}` moves "
                  "it",
                  owner, name, name, account);
    if (!adopts && owner.empty())
      return fail(Code::conflict,
                  "no account owns space '{}': `zooctl space adopt {} --account {}` gives it one",
                  name, name, account);
    // The resourceVersion: if somebody has moved the space since it was read, this is refused.
    const json patch = {
        {"metadata", {{"resourceVersion", text_at(space, "/metadata/resourceVersion")}}},
        {"spec", {{"account", account}}}};
    ZOO_TRY(const auto moved, cluster.merge_patch(path_of(name), patch, dry_run));
    print_space_result(context, moved, adopts ? "adopted" : "transferred", dry_run,
                       format_of(format));
    return 0;
  }
};

struct SpaceUse final : Command {
  std::string name, context_name;

  void define(CLI::App& app) override {
    app.add_option("space", name, "A space that you may see; - is the one before")
        ->type_name("SPACE")
        ->required();
    add_context_option(app, context_name);
    add_examples(app, "  zooctl space use web\n  zooctl space use -");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    auto space = name;
    if (space == "-") {
      ZOO_TRY(space, previous_namespace(cluster.file(), cluster.access().context));
      if (space.empty())
        return fail(Code::not_found, "there is no space that was used before in context '{}'",
                    cluster.access().context);
    }
    ZOO_TRY_VOID(read_space(cluster, space));
    ZOO_TRY_VOID(set_namespace(cluster.file(), cluster.access().context, space));
    context.say(fmt::format("context {} now works in space {}", cluster.access().context, space));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_space_create() { return std::make_unique<SpaceCreate>(); }
std::unique_ptr<Command> make_space_list() { return std::make_unique<SpaceList>(); }
std::unique_ptr<Command> make_space_describe() { return std::make_unique<SpaceDescribe>(); }
std::unique_ptr<Command> make_space_delete() { return std::make_unique<SpaceDelete>(); }
std::unique_ptr<Command> make_space_use() { return std::make_unique<SpaceUse>(); }
std::unique_ptr<Command> make_space_adopt() { return std::make_unique<SpaceOwner>(true); }
std::unique_ptr<Command> make_space_transfer() { return std::make_unique<SpaceOwner>(false); }

} // namespace zoo::cli
