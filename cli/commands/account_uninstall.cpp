// SPDX-License-Identifier: Apache-2.0
#include "cli/cluster.hpp"
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "common/kiosk/removal.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct AccountUninstall final : Command {
  std::string upstream, format, context_name;
  bool force = false, dry_run = false;

  void define(CLI::App& app) override {
    app.add_option("--upstream", upstream,
                   "An administrator's kubeconfig of the upstream, which zooctl asks itself, so "
                   "that it works where zood is dead; else zood is asked")
        ->type_name("FILE");
    app.add_flag("--force", force, "Remove all although there are accounts, which are lost");
    app.add_flag("--dry-run", dry_run, "Say what would be removed, and change nothing");
    add_context_option(app, context_name);
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl account uninstall --dry-run --upstream admin.kubeconfig\n"
                      "  zooctl account uninstall --upstream admin.kubeconfig");
  }

  Result<json> removal(Context& context) const {
    if (upstream.empty()) {
      if (!context_name.empty())
        return fail(Code::usage, "--context needs --upstream FILE: a context of which kubeconfig?");
      context.patient();
      ZOO_TRY(auto* client, context.client());
      return client->uninstall_accounts(force, dry_run);
    }
    ZOO_TRY(auto cluster, Cluster::open_file(context, upstream, context_name));
    const kiosk::Ask ask = [&](std::string_view method, std::string_view path,
                               std::string_view content_type, std::string body) {
      return cluster.raw(method, path, content_type, std::move(body));
    };
    ZOO_TRY(const auto done, kiosk::remove_accounts(ask, {force, dry_run}, context.pause));
    return kiosk::to_json(done);
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto done, removal(context));
    if (format == "json" || format == "yaml") {
      print_record(context, done, format_of(format));
      return 0;
    }
    if (context.globals.quiet) return 0;
    for (const auto& title : done.value("removed", json::array()))
      context.out << (dry_run ? "would remove " : "removed ") << title.get<std::string>() << '\n';
    for (const auto& title : done.value("left", json::array()))
      context.out << "left " << title.get<std::string>() << ": it is not zood's\n";
    context.out << std::flush;
    if (done.value("removed", json::array()).empty()) context.say("nothing of accounts is there");
    if (done.value("spaces", 0) > 0)
      context.say("the namespaces of the accounts stay, with their label kiosk.sh/account");
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_account_uninstall() { return std::make_unique<AccountUninstall>(); }

} // namespace zoo::cli
