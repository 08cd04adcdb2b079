// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/output/printer.hpp"
#include "cli/output/table.hpp"
#include "common/api/doctor_checks.hpp"
#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string_view>
#include <vector>

namespace zoo::cli {
namespace {

using nlohmann::json;

constexpr int k_exit_problem = 1;

/// Findings are {id, level: ok|warning|problem, subject, message, remedy}. That zood cannot be
/// asked is a finding too.
struct Doctor final : Command {
  std::string format, explain;

  void define(CLI::App& app) override {
    add_format_option(app, format, "table|json|yaml");
    app.add_option("--explain", explain,
                   "Say what the check with this ID looks at and why; `list` names all")
        ->type_name("ID");
    add_examples(app, "  zooctl doctor\n  zooctl doctor -o json\n"
                      "  zooctl doctor --explain free-space");
  }

  /// Asks nobody.
  Result<int> say_what(Context& context) const {
    std::vector<std::string_view> ids;
    for (const auto& check : api::doctor_checks()) {
      ids.push_back(check.id);
      if (check.id != explain) continue;
      context.out << check.id << ": " << check.explain << '\n' << std::flush;
      return 0;
    }
    if (explain == "list") {
      for (const auto id : ids)
        context.out << id << '\n';
      context.out << std::flush;
      return 0;
    }
    const auto near = text::nearest(explain, ids);
    return fail(Code::usage, "there is no check '{}'{}: `zooctl doctor --explain list` names all",
                explain, near ? fmt::format(", did you mean '{}'?", *near) : std::string());
  }

  static Result<json> findings(Context& context) {
    context.patient();
    auto client = context.client();
    if (!client && client.error().code() == Code::usage) return fail(std::move(client).error());
    auto answer = client ? (*client)->doctor() : Result<json>(fail(std::move(client).error()));
    if (!answer) {
      return json::array({{{"id", "zood"},
                           {"level", "problem"},
                           {"subject", "zood"},
                           {"message", answer.error().text()},
                           {"remedy", ""}}});
    }
    if (answer->is_array()) return answer;
    for (const auto* key : {"findings", "items"}) {
      if (answer->is_object() && answer->contains(key) && (*answer)[key].is_array()) {
        return (*answer)[key];
      }
    }
    return fail(Code::internal, "zood's answer holds no findings: are zooctl and zood of the same "
                                "version? See `zooctl version`");
  }

  static void print(Context& context, const json& list) {
    for (const auto& finding : list) {
      const auto level = text_at(finding, "/level");
      const auto colour = level == "ok"        ? Colour::good
                          : level == "warning" ? Colour::waiting
                                               : Colour::bad;
      context.out << paint(fmt::format("{:<8}", printable(level)), colour, context.colours())
                  << printable(text_at(finding, "/subject")) << ": "
                  << printable(text_at(finding, "/message")) << '\n';
      if (const auto remedy = text_at(finding, "/remedy"); !remedy.empty()) {
        context.out << "        -> " << printable(remedy) << '\n';
        if (const auto id = text_at(finding, "/id"); !id.empty())
          context.out << "        -> zooctl doctor --explain " << printable(id) << '\n';
      }
    }
  }

  Result<int> run(Context& context) override {
    if (!explain.empty()) return say_what(context);
    ZOO_TRY(const auto list, findings(context));
    std::size_t problems = 0, warnings = 0;
    for (const auto& finding : list) {
      const auto level = text_at(finding, "/level");
      problems += level != "ok" && level != "warning" ? 1 : 0;
      warnings += level == "warning" ? 1 : 0;
    }
    if (format == "json" || format == "yaml") {
      print_record(context, json{{"findings", list}}, format_of(format));
    } else {
      print(context, list);
    }
    const auto summary =
        problems + warnings == 0
            ? fmt::format("{} checks, all is well", list.size())
            : fmt::format("{} check{}: {} problem{}, {} warning{}", list.size(),
                          list.size() == 1 ? "" : "s", problems, problems == 1 ? "" : "s", warnings,
                          warnings == 1 ? "" : "s");
    if (format == "json" || format == "yaml") {
      context.say(summary);
    } else if (!context.globals.quiet) {
      context.out << summary << '\n' << std::flush;
    }
    return problems == 0 ? 0 : k_exit_problem;
  }
};

} // namespace

std::unique_ptr<Command> make_doctor() { return std::make_unique<Doctor>(); }

} // namespace zoo::cli
