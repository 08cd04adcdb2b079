// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <charconv>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct Column {
  const char* header;
  const char* at; ///< in status.usage: an object of used and limit, or a number
  bool wide = false;
};
constexpr Column k_columns[] = {{"REQUESTS", "/flow/requestsInflight"},
                                {"WRITES", "/flow/mutationsInflight", true},
                                {"WATCHES", "/flow/longRunning"},
                                {"BUFFERED", "/flow/bufferedBytes", true},
                                {"QUEUED", "/flow/queued"},
                                {"REFUSED", "/flow/refused"},
                                {"NAMESPACES", "/quota/namespaces"},
                                {"CRDS", "/quota/customresourcedefinitions"},
                                {"WEBHOOKS", "/quota/webhooks"},
                                {"POLICIES", "/quota/policies", true},
                                {"NODEPORTS", "/quota/services.nodeports", true},
                                {"LOADBALANCERS", "/quota/services.loadbalancers", true},
                                {"OBJECTS", "/quota/objects"},
                                {"BYTES", "/quota/bytes", true}};

/// "3/1000", "?/1000" where nothing was counted yet, "3" without a limit, "-" without a ceiling.
/// What is full is bad, what is nearly so waits.
Cell cell_of(const json& tenant, const char* at) {
  const auto pointer = std::string("/status/usage") + at;
  const auto number = [&](const std::string& where) -> std::optional<std::uint64_t> {
    const auto text = text_at(tenant, where);
    std::uint64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
    return out;
  };
  if (const auto plain = number(pointer)) return {std::to_string(*plain), Colour::none};
  const auto used = number(pointer + "/used");
  const auto limit = number(pointer + "/limit");
  if (!limit) return {"-", Colour::dim};
  if (!used) return {fmt::format("?/{}", *limit), Colour::dim};
  const auto colour = *used >= *limit                 ? Colour::bad
                      : *used >= *limit - *limit / 10 ? Colour::waiting
                                                      : Colour::none;
  return {fmt::format("{}/{}", *used, *limit), colour};
}

struct Top final : Command {
  std::vector<std::string> ids;
  std::string format;
  bool no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", ids, "IDs of tenants; without any, all")->type_name("TENANT");
    add_format_option(app, format, "table|wide|json|yaml");
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl top\n"
                      "  zooctl top foofoo -o wide");
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(auto* client, context.client());
    json items = json::array();
    if (ids.empty()) {
      ZOO_TRY(auto list, client->tenants());
      items = std::move(list["items"]);
    }
    for (const auto& id : ids) {
      ZOO_TRY(auto tenant, client->tenant(id));
      items.push_back(std::move(tenant));
    }
    const auto wanted = format_of(format);
    if (wanted == Format::json || wanted == Format::yaml) {
      json out = {{"items", json::array()}};
      for (const auto& tenant : items) {
        const auto usage =
            !tenant.is_object() ? json() : tenant.value("/status/usage"_json_pointer, json());
        out["items"].push_back({{"name", text_at(tenant, "/metadata/name")},
                                {"usage", usage.is_object() ? usage : json::object()}});
      }
      print_record(context, out, wanted);
      return 0;
    }
    Table table{{"TENANT"}, {}};
    for (const auto& column : k_columns)
      if (!column.wide || wanted == Format::wide) table.headers.emplace_back(column.header);
    for (const auto& tenant : items) {
      std::vector<Cell> row{{text_at(tenant, "/metadata/name"), Colour::none}};
      for (const auto& column : k_columns)
        if (!column.wide || wanted == Format::wide) row.push_back(cell_of(tenant, column.at));
      table.rows.push_back(std::move(row));
    }
    if (!table.rows.empty()) print_table(context.out, table, {!no_headers, context.colours()});
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_top() { return std::make_unique<Top>(); }

} // namespace zoo::cli
