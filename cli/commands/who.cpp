// SPDX-License-Identifier: Apache-2.0
#include "cli/who.hpp"

#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr int k_exit_no = 1; ///< as of `kubectl auth can-i`

struct WhoAmI final : Command {
  std::string format, context_name;

  void define(CLI::App& app) override {
    add_format_option(app, format, "table|json|yaml|name");
    add_context_option(app, context_name);
    add_examples(app, "  zooctl whoami");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    ZOO_TRY(const auto me, who_am_i(cluster));
    if (format == "name") {
      context.out << printable(me.name) << '\n';
      return 0;
    }
    // Where there are no accounts, or none may be read, he has none that could be told.
    const auto accounts = accounts_of(cluster, me);
    if (format == "json" || format == "yaml") {
      json record = {{"user", me.name}, {"groups", me.groups}};
      if (accounts) record["accounts"] = *accounts;
      print_record(context, record, format_of(format));
      return 0;
    }
    const auto line = [&](std::string_view name, const std::vector<std::string>& values) {
      context.out << fmt::format(
          "{:<9} {}\n", name,
          values.empty() ? "<none>" : printable(fmt::format("{}", fmt::join(values, ", "))));
    };
    line("User:", {me.name});
    line("Groups:", me.groups);
    if (accounts) {
      line("Accounts:", *accounts);
    } else {
      context.out << "Accounts: <unknown>\n";
      context.say("accounts: " + accounts.error().text());
    }
    return 0;
  }
};

struct CanI final : Command {
  std::string verb, resource, name, name_space, format, context_name;

  void define(CLI::App& app) override {
    app.add_option("verb", verb, "get, list, create, delete and so on")
        ->type_name("VERB")
        ->required();
    app.add_option("resource", resource,
                   "The plural of a kind, with its group and subresource: pods, deployments.apps, "
                   "pods/log, spaces.tenancy.kiosk.sh")
        ->type_name("RESOURCE")
        ->required();
    app.add_option("name", name, "One object")->type_name("NAME");
    app.add_option("-n,--namespace", name_space,
                   "The namespace; else the context's, and \"*\" is all of them")
        ->type_name("SPACE");
    add_format_option(app, format, "table|json|yaml");
    add_context_option(app, context_name);
    add_examples(app, "  zooctl can-i create deployments.apps -n web\n"
                      "  zooctl can-i create spaces.tenancy.kiosk.sh");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto cluster, Cluster::open(context, context_name));
    json asked = {{"verb", verb}};
    auto kind = resource;
    if (const auto slash = kind.find('/'); slash != std::string::npos) {
      asked["subresource"] = kind.substr(slash + 1);
      kind.resize(slash);
    }
    if (const auto dot = kind.find('.'); dot != std::string::npos) {
      asked["group"] = kind.substr(dot + 1);
      kind.resize(dot);
    }
    asked["resource"] = kind;
    if (!name.empty()) asked["name"] = name;
    auto space = name_space.empty() ? cluster.access().default_namespace : name_space;
    if (name_space.empty() && space.empty()) space = "default";
    if (space != "*") asked["namespace"] = space;
    ZOO_TRY(const auto answer,
            cluster.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                           {{"apiVersion", "authorization.k8s.io/v1"},
                            {"kind", "SelfSubjectAccessReview"},
                            {"spec", {{"resourceAttributes", asked}}}},
                           false));
    const bool allowed = text_at(answer, "/status/allowed") == "true";
    const auto reason = text_at(answer, "/status/reason");
    if (format == "json" || format == "yaml") {
      print_record(context, json{{"allowed", allowed}, {"reason", reason}}, format_of(format));
    } else {
      context.out << (allowed ? "yes" : "no") << '\n' << std::flush;
      if (!allowed && !reason.empty()) context.say(printable(reason));
    }
    return allowed ? 0 : k_exit_no;
  }
};

} // namespace

std::unique_ptr<Command> make_whoami() { return std::make_unique<WhoAmI>(); }
std::unique_ptr<Command> make_can_i() { return std::make_unique<CanI>(); }

} // namespace zoo::cli
