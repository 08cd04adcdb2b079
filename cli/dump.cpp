// SPDX-License-Identifier: Apache-2.0
#include "cli/dump.hpp"

#include "cli/walk.hpp"
#include "common/base/error_table.hpp"
#include "common/base/text.hpp"
#include "common/config/config.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <map>

namespace zoo::cli {
namespace {

using nlohmann::json;

json option_of(const CLI::Option& option) {
  json out = {{"names", option_names(option)},
              {"summary", option.get_description()},
              {"required", option.get_required()},
              {"repeated", takes_value(option) && option.get_items_expected_max() > 1}};
  if (takes_value(option)) out["value"] = option.get_type_name();
  if (!option.get_default_str().empty() && takes_value(option)) {
    out["default"] = option.get_default_str();
  }
  return out;
}

json command_of(const CLI::App& app) {
  json out = {{"name", app.get_name()},
              {"summary", app.get_description()},
              {"options", json::array()},
              {"arguments", json::array()},
              {"commands", json::array()}};
  if (!app.get_footer().empty()) out["examples"] = app.get_footer();
  for (const auto* option : options_of(app, false)) {
    if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;
    out["options"].push_back(option_of(*option));
  }
  for (const auto* option : positionals_of(app)) {
    out["arguments"].push_back({{"name", option->get_name()},
                                {"value", option->get_type_name()},
                                {"summary", option->get_description()},
                                {"required", option->get_required()},
                                {"repeated", option->get_items_expected_max() > 1}});
  }
  for (const auto* each : app.get_subcommands([](const CLI::App*) { return true; }))
    out["commands"].push_back(command_of(*each));
  return out;
}

// scdoc(5): these begin formatting unless a backslash stands before them.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '\\' || c == '<' || c == '#' || c == '~' || c == '.') {
      if (c != '.' || out.empty()) out += '\\';
    }
    out += c;
  }
  return out;
}

std::string sentence(std::string_view text) {
  auto out = escape(text);
  if (!out.empty() && !out.ends_with('.')) out += '.';
  return out;
}

std::string value_name(const std::string& type) {
  if (type.find('|') == std::string::npos) return "_" + escape(type) + "_";
  std::string out;
  for (const auto choice : text::split(type, '|'))
    out += fmt::format("{}*{}*", out.empty() ? "" : "|", escape(choice));
  return out;
}

std::string option_rows(const json& options) {
  std::string out;
  for (const auto& option : options) {
    std::string names;
    for (const auto& name : option["names"])
      names += fmt::format("{}*{}*", names.empty() ? "" : ", ", escape(name.get<std::string>()));
    if (option.contains("value")) names += " " + value_name(option["value"]);
    out += fmt::format("{}\n\t{}", names, sentence(option["summary"].get<std::string>()));
    if (option.contains("default")) {
      out += fmt::format(" Default: {}.", escape(option["default"].get<std::string>()));
    }
    out += "\n\n";
  }
  return out;
}

std::string usage_of(const std::string& prefix, const json& command) {
  auto out = fmt::format("*{} {}*", prefix, command["name"].get<std::string>());
  if (!command["options"].empty()) out += " [_options_]";
  for (const auto& argument : command["arguments"]) {
    const auto value = argument["value"].get<std::string>();
    auto word =
        "_" +
        escape(value.find('|') == std::string::npos ? value : argument["name"].get<std::string>()) +
        "_";
    if (argument["repeated"]) word += "...";
    if (value == "ARGS") {
      out += " \\-- " + word;
    } else {
      out += argument["required"] ? " " + word : " [" + word + "]";
    }
  }
  return out;
}

std::string command_section(const std::string& prefix, const json& command) {
  auto out =
      fmt::format("## {} {}\n\n{}\n\n{}\n\n", prefix, command["name"].get<std::string>(),
                  usage_of(prefix, command), sentence(command["summary"].get<std::string>()));
  for (const auto& argument : command["arguments"]) {
    out += fmt::format("{}\n\t{}\n\n", value_name(argument["value"]),
                       sentence(argument["summary"].get<std::string>()));
  }
  out += option_rows(command["options"]);
  if (command.contains("examples")) {
    const auto text = command["examples"].get<std::string>();
    out += fmt::format("{}\n\n```\n{}\n```\n\n", text.substr(0, text.find('\n')),
                       text.substr(text.find('\n') + 1));
  }
  return out;
}

std::string commands_of(const json& dump, std::string_view group) {
  std::string out;
  for (const auto& command : dump["commands"]) {
    const auto name = command["name"].get<std::string>();
    if (group.empty()) {
      out += command["commands"].empty()
                 ? command_section("zooctl", command)
                 : fmt::format("## zooctl {}\n\n{} See *zooctl-{}*(1).\n\n", name,
                               sentence(command["summary"].get<std::string>()), name);
    } else if (name == group) {
      for (const auto& each : command["commands"])
        out += command_section("zooctl " + name, each);
    }
  }
  return out;
}

std::string exit_rows() {
  std::map<int, std::string> rows;
  for (const auto& row : error_table()) {
    auto& names = rows[row.exit_status];
    names += (names.empty() ? "" : ", ") + escape(row.name);
  }
  std::string out = "*0*\n\tAll went well.\n\n*1*\n\t*zooctl doctor* found a problem.\n\n";
  for (const auto& [status, names] : rows)
    out += fmt::format("*{}*\n\t{}.\n\n", status, names);
  return out;
}

} // namespace

json dump_tree(const CLI::App& root) { return command_of(root); }

Result<std::string> render_man(std::string_view source, const json& dump) {
  std::string out;
  for (const auto line : text::split(source, '\n')) {
    const auto marker = text::trim(line);
    if (marker.size() < 3 || marker.front() != '@' || marker.back() != '@') {
      out += line;
      out += '\n';
      continue;
    }
    const auto words = text::split(marker.substr(1, marker.size() - 2), ' ');
    std::string text;
    if (words[0] == "GLOBAL-OPTIONS") {
      text = option_rows(dump["options"]);
    } else if (words[0] == "COMMANDS") {
      text = commands_of(dump, words.size() > 1 ? words[1] : std::string_view());
    } else if (words[0] == "EXIT-STATUS") {
      text = exit_rows();
    } else if (words[0] == "KEYS") {
      text = config::man_rows();
    }
    if (text.empty()) return fail(Code::internal, "unknown marker {} in a manual page", marker);
    out += text;
  }
  while (out.ends_with("\n\n"))
    out.pop_back();
  // scdoc refuses more than one empty line in a row.
  for (std::size_t at; (at = out.find("\n\n\n")) != std::string::npos;)
    out.erase(at, 1);
  return out;
}

} // namespace zoo::cli
