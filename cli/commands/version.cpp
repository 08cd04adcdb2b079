// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct Version final : Command {
  std::string format;
  bool client_only = false;

  void define(CLI::App& app) override {
    app.add_flag("--client", client_only, "Do not ask zood");
    add_format_option(app, format, "table|json|yaml");
    add_examples(app, "  zooctl version\n  zooctl version --client");
  }

  /// zood's own version; its /version speaks of the upstream's API.
  static Result<std::string> ask(Context& context) {
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto status, client->status());
    return text_at(json(status), "/version");
  }

  Result<int> run(Context& context) override {
    json versions = {{"client", ZOO_VERSION}};
    Result<std::string> server = std::string();
    if (!client_only) {
      server = ask(context);
      if (server) versions["server"] = *server;
    }
    if (format == "json" || format == "yaml") {
      print_record(context, versions, format_of(format));
    } else {
      context.out << "zooctl " << ZOO_VERSION << '\n';
      if (!client_only && server) context.out << "zood   " << printable(*server) << '\n';
    }
    if (!server) return fail(std::move(server).error());
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_version() { return std::make_unique<Version>(); }

} // namespace zoo::cli
