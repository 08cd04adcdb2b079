// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/base/file.hpp"
#include "common/kube/age.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct ReplicaInvite final : Command {
  std::string output;

  void define(CLI::App& app) override {
    app.add_option("-o,--output", output, "The file to write, for `zood --join`")
        ->type_name("FILE")
        ->required();
    add_examples(app, "  zooctl replica invite -o replica.invitation");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto text, client->invitation());
    ZOO_TRY_VOID(file::write_secret(output, text.view()));
    context.say(
        fmt::format("wrote {}: it holds zood's master key and its access to etcd. Take it to "
                    "the other machine, run `zood --join {} --dir DIR` there, and remove it",
                    printable(output), printable(output)));
    return 0;
  }
};

struct ReplicaList final : Command {
  std::string format;

  void define(CLI::App& app) override {
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl replica list");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto state, client->store());
    if (format == "json" || format == "yaml") {
      print_record(context, state, format_of(format));
      return 0;
    }
    Table table{{"NAME", "LEADS", "VERSION", "AGE"}, {}};
    for (const auto& each : state.value("replicas", json::array())) {
      const bool leads = each.value("leads", false);
      const auto started = each.value("started", std::int64_t{0});
      table.rows.push_back({{each.value("name", "")},
                            {leads ? "yes" : "no", leads ? Colour::good : Colour::none},
                            {each.value("version", "")},
                            {human_span(kube::unix_now() - started)}});
    }
    print_table(context.out, table, {true, context.colours()});
    context.out << std::flush;
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_replica_invite() { return std::make_unique<ReplicaInvite>(); }
std::unique_ptr<Command> make_replica_list() { return std::make_unique<ReplicaList>(); }

} // namespace zoo::cli
