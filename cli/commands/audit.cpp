// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/journal.hpp"
#include "cli/options.hpp"
#include "cli/other_zoods.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/api/tenant.hpp"
#include "common/base/error_table.hpp"
#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace zoo::cli {
namespace {

using nlohmann::json;

struct Audit final : Command {
  using Time = std::chrono::system_clock::time_point;

  std::string tenant, since = "1h", user, verb, limit = "1000", format, journal;
  bool denied = false, follow = false, no_headers = false, all_replicas = false;

  void define(CLI::App& app) override {
    app.add_option("tenant", tenant, "The tenant's ID; without it all, administrators included")
        ->type_name("TENANT");
    app.add_option("--since", since, "How far back, as in 15m, 12h or 7d")
        ->type_name("DURATION")
        ->capture_default_str();
    app.add_option("--user", user, "Only requests of this user")->type_name("USER");
    app.add_option("--verb", verb, "Only this verb: get, list, watch, create, ...")
        ->type_name("VERB");
    app.add_flag("--denied", denied,
                 "Only what was answered 401 or 403: by the tenant's rights, zood's guards or "
                 "upstream");
    app.add_option("--limit", limit, "The newest so many lines, 10000 at most")
        ->type_name("NUMBER")
        ->capture_default_str();
    app.add_flag(
        "--all-replicas", all_replicas,
        "Of several zoods with one store: end with exit status 69 where one of them did not "
        "answer");
    app.add_option("--journal", journal,
                   "Where zood writes to the journal: read the files of this directory, as "
                   "journalctl --directory")
        ->type_name("DIR");
    app.add_flag("-f,--follow", follow,
                 "Go on with what comes, until interrupted; -o json: one line of JSON each");
    add_format_option(app, format, "table|json|yaml");
    add_no_headers(app, no_headers);
    add_examples(app, "  zooctl audit foofoo --since 15m\n"
                      "  zooctl audit foofoo --denied -o json\n"
                      "  zooctl audit foofoo --follow --since 1s");
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
    if (several_) out.push_back({text_at(line, "/replica"), Colour::none});
    if (tenant.empty()) out.push_back({text_at(line, "/tenant"), Colour::none});
    for (auto text : {text_at(line, "/user"), text_at(line, "/verb"), what(line),
                      text_at(line, "/namespace"), text_at(line, "/name")})
      out.push_back({std::move(text), Colour::none});
    const bool refused = code == "401" || code == "403";
    out.push_back({code, refused ? Colour::bad : Colour::none});
    out.push_back({latency(line), Colour::none});
    out.push_back({decision, decision == "allow" ? Colour::none : Colour::bad});
    out.push_back({text_at(line, "/reason"), Colour::none});
    return out;
  }

  void print(Context& context, const json& lines, bool first) {
    if (follow && format == "json") {
      for (const auto& line : lines)
        context.out << json_text(line, -1) << '\n';
      context.out.flush();
      return;
    }
    Table table;
    table.headers = {"TIME"};
    if (several_) table.headers.emplace_back("REPLICA");
    if (tenant.empty()) table.headers.emplace_back("TENANT");
    for (const auto* header :
         {"USER", "VERB", "RESOURCE", "NAMESPACE", "NAME", "CODE", "LATENCY", "DECISION", "REASON"})
      table.headers.emplace_back(header);
    for (const auto& line : lines) {
      auto cells = row(line);
      cells.resize(table.headers.size());
      table.rows.push_back(std::move(cells));
    }
    if (table.rows.empty()) return;
    const bool headers = !no_headers && (first || widths_.empty());
    if (follow) align(table);
    print_table(context.out, table, {headers, context.colours()});
    context.out.flush();
  }

  /// What comes later stands below what came first.
  void align(Table& table) {
    widths_.resize(table.headers.size());
    for (std::size_t column = 0; column + 1 < widths_.size(); ++column) {
      auto& width = widths_[column];
      width = std::max(width, display_width(table.headers[column]));
      for (const auto& cells : table.rows)
        width = std::max(width, display_width(printable(cells[column].text)));
      for (auto& cells : table.rows) {
        auto& text = cells[column].text;
        if (text.empty()) text = "<none>"; // as print_table() has it
        const auto has = display_width(printable(text));
        if (has < width) text.append(width - has, ' ');
      }
    }
  }

  Result<api::AuditQuery> query(const Context& context) const {
    ZOO_TRY(const auto span, option_duration("--since", since));
    api::AuditQuery out{tenant, user, verb, "", context.now() - span, {}, 0, denied};
    const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), out.limit);
    if (error != std::errc() || end != limit.data() + limit.size() || out.limit < 1 ||
        out.limit > k_most) {
      return fail(Code::usage, "--limit is a number from 1 to {}, not '{}'", k_most, limit);
    }
    if (all_replicas && !journal.empty())
      return fail(Code::usage, "--journal reads the files of one machine, and --all-replicas asks "
                               "for those of all: give one of them");
    if (follow && format == "yaml")
      return fail(Code::usage, "--follow prints a table, or with -o json a line each");
    return out;
  }

  /// What all zoods that have the store have written, by time: as one zood answers, and
  /// `replica` in each line. Who does not answer is named on standard error, once.
  Result<json> gather(Context& context, AllZoods& zoods, const api::AuditQuery& wanted) {
    ZOO_TRY(auto answers, zoods.ask([&](const std::string& zood, AdminClient& client) {
      auto of_it = wanted;
      if (const auto heard = seen_.find(zood); heard != seen_.end() && !heard->second.empty())
        of_it.since = since_newest(*heard->second.rbegin(), wanted.since);
      return ask(client, of_it);
    }));
    if (answers.front().zood.empty() && answers.size() == 1) return answers.front().answer;
    several_ = true;
    std::vector<json> lines;
    bool more = false;
    std::int64_t torn = 0;
    for (auto& [zood, answer] : answers) {
      if (!answer) {
        if (missing_.insert(zood).second)
          context.say(fmt::format("{} did not answer, and its lines are missing: {}",
                                  printable(zood), answer.error().text()));
        continue;
      }
      missing_.erase(zood);
      more = more || answer->value("more", false);
      torn += answer->value("torn", std::int64_t{0});
      for (auto& line : (*answer)["items"]) {
        if (!line.is_object()) continue;
        line["replica"] = zood;
        lines.push_back(std::move(line));
      }
    }
    std::stable_sort(lines.begin(), lines.end(), [](const json& a, const json& b) {
      return text_at(a, "/time") < text_at(b, "/time");
    });
    // Also lines of a zood of which the limit below leaves none: it is asked from its newest one.
    if (follow && std::exchange(first_, false)) remember(json(lines));
    if (lines.size() > wanted.limit) {
      more = true;
      lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(wanted.limit));
    }
    return json{{"items", std::move(lines)}, {"more", more}, {"torn", torn}};
  }

  /// zood's files are zood's to read; the journal, the caller's.
  Result<json> ask(AdminClient& client, const api::AuditQuery& wanted) const {
    auto asked = client.audit(wanted);
    // Its files may be all that is left of a machine.
    const bool gone = !asked && !journal.empty() && asked.error().code() == Code::unavailable;
    if (gone) asked = json{{"journal", "_SYSTEMD_UNIT=zood.service"}};
    ZOO_TRY(auto answer, std::move(asked));
    const auto match = text_at(answer, "/journal");
    if (match.empty() && journal.empty()) return answer;
    if (match.empty())
      return fail(Code::usage, "--journal is for a zood that writes its audit log to the journal; "
                               "this one keeps files, and answers without");
    if (journal.empty() && client.door().socket.empty()) {
      return fail(Code::not_found, "zood writes its audit log to the journal of its own machine: "
                                   "run zooctl there, or give the journal's files (--journal)");
    }
    return read_journal(match, wanted, journal);
  }

  /// Asks each zood again and again for what is not older than its own newest line, for their
  /// clocks differ, and leaves out what it has seen of that. Ends when zood says no, or nobody
  /// reads what is printed.
  Result<int> go_on(Context& context, AllZoods& zoods, api::AuditQuery wanted, const json& first) {
    remember(first);
    wanted.limit = k_most;
    bool told = false;
    while (context.out.good()) {
      context.pause(k_pause);
      const auto answer = gather(context, zoods, wanted);
      if (!answer) {
        if (!AdminClient::passes(answer.error())) return fail(answer.error());
        if (!std::exchange(told, true)) context.say(answer.error().text() + "; trying again");
        continue;
      }
      told = false;
      json fresh = json::array();
      for (const auto& line : answer->value("items", json::array())) {
        const bool own = text_at(line, "/path") == "/zoo/v1/audit"; // each of which would bring one
        if (!own && !seen_[zood_of(line)].contains(key_of(line))) fresh.push_back(line);
      }
      if (answer->value("more", false)) context.say("Lines come faster than they are shown.");
      print(context, fresh, false);
      remember(answer->value("items", json::array()));
    }
    return 0;
  }

  /// Lines begin with their time, and so do their keys.
  static std::string key_of(const json& line) {
    return text_at(line, "/time") + line.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  /// Lines are written up to a moment after their time, and not quite in its order.
  static Time since_newest(const std::string& key, Time before) {
    const auto second = unix_time(key.substr(0, k_seconds) + "Z");
    return second ? std::max(before, std::chrono::system_clock::from_time_t(*second) - k_late)
                  : before;
  }

  /// Whom to ask for what comes behind it. A zood alone may have been one of several when it wrote.
  std::string zood_of(const json& line) const {
    return several_ ? text_at(line, "/replica") : std::string();
  }

  /// Of these lines and of those before, what since_newest() may bring once more.
  void remember(const json& lines) {
    for (const auto& line : lines)
      seen_[zood_of(line)].insert(key_of(line));
    for (auto& [zood, keys] : seen_) {
      if (keys.empty()) continue;
      const auto from = since_newest(*keys.rbegin(), {});
      const auto text = api::rfc3339(std::chrono::system_clock::to_time_t(from));
      keys.erase(keys.begin(), keys.lower_bound(text.substr(0, k_seconds)));
    }
  }

  Result<int> run(Context& context) override {
    ZOO_TRY(const auto wanted, query(context));
    // The files of a journal are those of one machine.
    ZOO_TRY(auto zoods, AllZoods::find(context, !journal.empty()));
    ZOO_TRY(const auto answer, gather(context, zoods, wanted));
    const int status =
        all_replicas && !missing_.empty() ? error_row(Code::unavailable).exit_status : 0;
    if (const auto torn = answer.value("torn", 0); torn > 0)
      context.say(fmt::format("Torn lines, left out: {}.", torn));
    if (!follow && (format == "json" || format == "yaml")) {
      print_record(context, answer, format_of(format));
      return status;
    }
    const auto lines = answer.value("items", json::array());
    print(context, lines, true);
    if (lines.empty() && !follow)
      context.say(fmt::format("No request of the last {} is written down that matches.", since));
    if (answer.value("more", false)) {
      context.say(fmt::format("There are older lines: raise --limit (now {}).", limit));
    }
    return follow ? go_on(context, zoods, wanted, lines) : Result<int>(status);
  }

private:
  static constexpr std::size_t k_most = 10'000;
  static constexpr std::chrono::seconds k_pause{1};
  static constexpr std::chrono::seconds k_late{2};
  static constexpr std::size_t k_seconds = 19; ///< of an RFC 3339 time, without fraction and zone

  bool several_ = false; ///< zoods have one store
  bool first_ = true;    ///< none of them was asked yet
  /// Keys of the newest lines of each zood, by its name; "": of the one that there is.
  std::map<std::string, std::set<std::string>> seen_;
  std::set<std::string> missing_;   ///< that did not answer last
  std::vector<std::size_t> widths_; ///< of what was printed while following
};

} // namespace

std::unique_ptr<Command> make_audit() { return std::make_unique<Audit>(); }

} // namespace zoo::cli
