// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/door.hpp"
#include "cli/options.hpp"
#include "cli/output/result.hpp"
#include "cli/output/table.hpp"
#include "cli/output/template_printer.hpp"
#include "cli/template_render.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr int k_differs = 1; ///< exit status of `template diff`, as of kubectl diff

std::string instances_path(std::string_view name_space) {
  if (name_space.empty()) return "/apis/config.kiosk.sh/v1alpha1/templateinstances";
  return fmt::format("/apis/config.kiosk.sh/v1alpha1/namespaces/{}/templateinstances",
                     kube::percent_encode(name_space));
}

/// -n, --context and -p: of commands that speak of one template in one namespace.
struct TemplateCommand : Command {
  RenderWish wish;
  std::string context_name;
  std::vector<std::string> parameters;

  void define_wish(CLI::App& app, bool may_be_file) {
    auto* name = app.add_option("template", wish.name, "The template")->type_name("TEMPLATE");
    if (may_be_file) {
      app.add_option("-f,--filename", wish.file, "A file with the template (YAML), or -")
          ->type_name("FILE")
          ->excludes(name);
    } else {
      name->required();
    }
    app.add_option("-n,--namespace", wish.name_space,
                   "The space that it is for; else that of the kubeconfig's context")
        ->type_name("SPACE");
    add_repeated(app, "-p,--parameter", parameters, "The value of a parameter; may be repeated",
                 "NAME=VALUE");
    add_context_option(app, context_name);
  }

  Result<void> prepare(const Cluster& cluster) {
    for (const auto& text : parameters) {
      ZOO_TRY(auto pair, option_pair("--parameter", text, "NAME=VALUE"));
      wish.values.insert_or_assign(std::move(pair.first), std::move(pair.second));
    }
    if (wish.name.empty() && wish.file.empty())
      return fail(Code::usage, "name a template, or a file with one: -f FILE");
    if (wish.name_space.empty()) wish.name_space = cluster.access().default_namespace;
    if (wish.name_space.empty())
      return fail(Code::usage, "say for which space: -n SPACE, or `zooctl space use SPACE`");
    return {};
  }
};

struct TemplateRender final : TemplateCommand {
  std::string format;

  void define(CLI::App& app) override {
    define_wish(app, true);
    add_format_option(app, format, "yaml|json|name");
    add_examples(app, "  zooctl template render isolated -n web\n"
                      "  zooctl template render -f isolated.yaml -n web -p MEMORY=1Gi");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY_VOID(prepare(cluster));
    ZOO_TRY(const auto objects, render_template(context, cluster, wish));
    print_objects(context, objects, format_of(format));
    return 0;
  }
};

struct TemplateDiff final : TemplateCommand {
  void define(CLI::App& app) override {
    define_wish(app, true);
    add_examples(app, "  zooctl template diff isolated -n web -p MEMORY=1Gi");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY_VOID(prepare(cluster));
    ZOO_TRY(const auto objects, render_template(context, cluster, wish));
    ZOO_TRY(const auto differs, print_differences(context, cluster, objects, wish.name_space));
    return differs ? k_differs : 0;
  }
};

struct TemplateList final : Command {
  std::string format, context_name;
  bool no_headers = false;

  void define(CLI::App& app) override {
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_context_option(app, context_name);
    add_examples(app, "  zooctl template list\n  zooctl template list -o wide");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY(const auto list, cluster.list(k_templates_path));
    print_templates(context, list, {format_of(format), !no_headers});
    if (list["items"].empty())
      context.hint("There are no templates yet. Some to start from: kubectl apply -f "
                   "/usr/share/zood/templates");
    return 0;
  }
};

struct TemplateInstantiate final : TemplateCommand {
  std::string name, format;
  bool sync = false, dry_run = false;
  WaitOptions wait{true, "60s"};

  void define(CLI::App& app) override {
    define_wish(app, false);
    app.add_option("--name", name, "The name of the instance; else the template's")
        ->type_name("NAME");
    app.add_flag("--sync", sync, "Follow the template, and put objects back that others change");
    add_dry_run(app, dry_run);
    add_wait_options(app, wait, "it is deployed");
    add_format_option(app, format, k_object_formats);
    add_examples(app, "  zooctl template instantiate redis -n web\n"
                      "  zooctl template instantiate redis -n web --name cache -p SIZE=2 --sync");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY_VOID(prepare(cluster));
    ZOO_TRY(const auto most, option_duration("--timeout", wait.timeout));
    if (name.empty()) name = wish.name;
    auto values = json::array();
    for (const auto& [key, value] : wish.values)
      values.push_back({{"name", key}, {"value", value}});
    const json wanted = {
        {"apiVersion", "config.kiosk.sh/v1alpha1"},
        {"kind", "TemplateInstance"},
        {"metadata", {{"name", name}, {"namespace", wish.name_space}}},
        {"spec", {{"template", wish.name}, {"sync", sync}, {"parameters", std::move(values)}}}};
    ZOO_TRY(auto made, cluster.create(instances_path(wish.name_space), wanted, dry_run));
    if (!dry_run && wait.wait) {
      ZOO_TRY(made, wait_until_deployed(context, cluster, made, most));
    }
    print_instance_result(context, made, wait.wait && !dry_run ? "deployed" : "created", dry_run,
                          format_of(format));
    return 0;
  }
};

struct TemplateStatus final : Command {
  std::string name_space, account, format, context_name;
  bool no_headers = false;

  void define(CLI::App& app) override {
    auto* in = app.add_option("-n,--namespace", name_space,
                              "Instances of this space; else those of all that you may list")
                   ->type_name("SPACE");
    app.add_option("--account", account, "Instances in all spaces of this account")
        ->type_name("ACCOUNT")
        ->excludes(in);
    add_format_option(app, format, k_object_formats);
    add_no_headers(app, no_headers);
    add_context_option(app, context_name);
    add_examples(
        app, "  zooctl template status -n web\n  zooctl template status --account blue -o wide");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY(auto list, cluster.list(instances_path(name_space)));
    if (!account.empty()) {
      ZOO_TRY(const auto spaces, cluster.list("/api/v1/namespaces",
                                              {{"labelSelector", "kiosk.sh/account=" + account}}));
      std::set<std::string> names;
      for (const auto& space : spaces["items"])
        names.insert(text_at(space, "/metadata/name"));
      auto kept = json::array();
      for (auto& item : list["items"])
        if (names.contains(text_at(item, "/metadata/namespace"))) kept.push_back(std::move(item));
      list["items"] = std::move(kept);
    }
    print_instances(context, list, {format_of(format), !no_headers});
    if (list["items"].empty()) context.hint("There are no instances of templates here.");
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_template_list() { return std::make_unique<TemplateList>(); }
std::unique_ptr<Command> make_template_render() { return std::make_unique<TemplateRender>(); }
std::unique_ptr<Command> make_template_diff() { return std::make_unique<TemplateDiff>(); }
std::unique_ptr<Command> make_template_instantiate() {
  return std::make_unique<TemplateInstantiate>();
}
std::unique_ptr<Command> make_template_status() { return std::make_unique<TemplateStatus>(); }

} // namespace zoo::cli
