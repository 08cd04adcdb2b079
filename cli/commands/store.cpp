// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/config/config.hpp"
#include "common/config/store_place.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct StoreMigrate final : Command {
  std::string to, format;
  bool dry_run = false, clear = false;

  void define(CLI::App& app) override {
    app.add_option(
           "--to", to,
           "The zood.yaml that zood is to be started with afterwards: its store.* says where "
           "the records go")
        ->type_name("FILE")
        ->required();
    app.add_flag("--dry-run", dry_run,
                 "Find out whether they could be moved, and how many there are");
    app.add_flag("--clear-target", clear,
                 "First remove what an earlier migration has left there, or the records of a store "
                 "that was moved");
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl store migrate --to /etc/zood/zood.yaml.etcd --dry-run\n"
                      "  zooctl store migrate --to /etc/zood/zood.yaml.etcd");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto values, config::load_file(to));
    ZOO_TRY(const auto place, config::store_place(values));
    context.patient();
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto done, client->migrate_store(json{
                                 {"to", config::to_json(place)},
                                 {"dryRun", dry_run},
                                 {"clearTarget", clear},
                             }));
    if (format == "json" || format == "yaml") {
      print_record(context, done, format_of(format));
      return 0;
    }
    const auto number = [&](const char* name) { return done.value(name, std::int64_t{0}); };
    if (dry_run) {
      context.say(fmt::format("{} records of {} bytes could be moved to {}", number("records"),
                              number("bytes"), printable(place.text())));
      return 0;
    }
    context.say(
        fmt::format("moved {} records of {} bytes to {} in {} ms, and compared them (SHA-256 "
                    "{})",
                    number("records"), number("bytes"), printable(place.text()),
                    number("heldMilliseconds"), printable(done.value("sha256", ""))));
    context.say("nothing is written until zood is restarted with " + printable(to));
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_store_migrate() { return std::make_unique<StoreMigrate>(); }

} // namespace zoo::cli
