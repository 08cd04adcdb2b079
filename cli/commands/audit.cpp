// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/api/tenant.hpp"
#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <charconv>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct Audit final : Command {
  std::string tenant, since = "1h", user, verb, limit = "1000", format;
  bool denied = false, no_headers = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", tenant, "The tenant's ID; without it all, administrators included")
        ->type_name("TENANT");
    app.add_option("--since", since, "How far back, as in 15m, 12h or 7d")
        ->type_name("DURATION")
        ->capture_default_str();
    app.add_option("--user", user, "Only requests of this user")->type_name("USER");
    app.add_option("--verb", verb, "Only this verb: get, list, watch, create, ...")
        ->type_name("VERB");
    app.add_flag("--denied", denied, "Only what the tenant's rights or zood's guards forbade");
    app.add_option("--limit", limit, "The newest so many lines, 10000 at most")
        ->type_name("NUMBER")
        ->capture_default_str();
    add_format_option(app, format, "table|json|yaml");
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl audit foofoo --since 15m\n"
                      "  zooctl audit foofoo --denied -o json");
  }

  static std::string what(const json& line) {
    auto out = text_at(line, "/resource");
    if (out.empty()) return text_at(line, "/path");
    if (const auto group = text_at(line, "/apiGroup"); !group.empty()) out += "." + group;
    if (const auto sub = text_at(line, "/subresource"); !sub.empty()) out += "/" + sub;
    return out;
  }

  static std::string latency(const json& line) {
    const auto micros = line.value("latencyMicros", std::int64_t{0});
    return micros < 10'000'000 ? fmt::format("{:.1f}ms", static_cast<double>(micros) / 1000)
                               : human_span(micros / 1'000'000);
  }

  std::vector<Cell> row(const json& line) const {
    if (const auto lost = text_at(line, "/lost"); !lost.empty()) {
      return {{text_at(line, "/time"), Colour::none}, {lost + " lines were lost", Colour::bad}};
    }
    const auto decision = text_at(line, "/decision");
    const auto code = text_at(line, "/code");
    std::vector<Cell> out = {{text_at(line, "/time"), Colour::none}};
    if (tenant.empty()) out.push_back({text_at(line, "/tenant"), Colour::none});
    for (auto text : {text_at(line, "/user"), text_at(line, "/verb"), what(line),
                      text_at(line, "/namespace"), text_at(line, "/name"), code, latency(line)})
      out.push_back({std::move(text), Colour::none});
    out.push_back({decision, decision == "allow" ? Colour::none : Colour::bad});
    out.push_back({text_at(line, "/reason"), Colour::none});
    return out;
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto span, option_duration("--since", since));
    AuditWish wish{tenant, user, verb, denied ? "forbid" : "", {}, {}, 0};
    const auto [end, error] =
        std::from_chars(limit.data(), limit.data() + limit.size(), wish.limit);
    if (error != std::errc() || end != limit.data() + limit.size() || wish.limit < 1 ||
        wish.limit > 10'000) {
      return fail(Code::usage, "--limit is a number from 1 to 10000, not '{}'", limit);
    }
    wish.since = api::rfc3339(
        std::chrono::duration_cast<std::chrono::seconds>((context.now() - span).time_since_epoch())
            .count());
    ZOO_TRY(auto* client, context.client());
    ZOO_TRY(const auto answer, client->audit(wish));
    if (format == "json" || format == "yaml") {
      print_record(context, answer, format_of(format));
      return 0;
    }
    Table table;
    table.headers = {"TIME"};
    if (tenant.empty()) table.headers.emplace_back("TENANT");
    for (const auto* header :
         {"USER", "VERB", "RESOURCE", "NAMESPACE", "NAME", "CODE", "LATENCY", "DECISION", "REASON"})
      table.headers.emplace_back(header);
    for (const auto& line : answer.value("items", json::array())) {
      auto cells = row(line);
      cells.resize(table.headers.size());
      table.rows.push_back(std::move(cells));
    }
    if (!table.rows.empty()) print_table(context.out, table, {!no_headers, context.colours()});
    if (answer.value("more", false)) {
      context.say(fmt::format("There are older lines: raise --limit (now {}).", limit));
    }
    return 0;
  }
};

} // namespace

std::unique_ptr<Command> make_audit() { return std::make_unique<Audit>(); }

} // namespace zoo::cli
