// SPDX-License-Identifier: Apache-2.0
#include "cli/walk.hpp"

#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace zoo::cli {
namespace {

const CLI::App* find_command(const CLI::App& app, std::string_view name) {
  for (const auto* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (each->get_name() == name) return each;
  }
  return nullptr;
}

std::string unknown(std::string_view what, std::string_view shown, std::string_view given,
                    const std::vector<std::string>& candidates, std::string_view otherwise) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const auto near = text::nearest(given, views);
  return near ? fmt::format("there is no {} '{}', did you mean '{}'?", what, shown, *near)
              : fmt::format("there is no {} '{}'; {}", what, shown, otherwise);
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

std::string unknown_command(const CLI::App& app, std::string_view given) {
  std::vector<std::string> names;
  for (const auto* each : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!is_hidden(*each)) names.push_back(each->get_name());
  }
  auto text = unknown("command", full_name(app) + " " + std::string(given), given, names,
                      fmt::format("`{} --help` lists the commands", full_name(app)));
  // Words of other tools for what is called otherwise here.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> k_others = {
      {{"ls", "list"},
       {"rm", "delete"},
       {"remove", "delete"},
       {"show", "describe"},
       {"edit", "apply"}}};
  for (const auto& [other, own] : k_others) {
    if (given == other && find_command(app, own) != nullptr)
      return fmt::format("there is no command '{0} {1}', did you mean '{0} {2}'?", full_name(app),
                         given, own);
  }
  if (given == "help") return fmt::format("`{} --help` lists the commands", full_name(app));
  if (app.get_parent() == nullptr && text.find("did you mean") == std::string::npos) {
    // "zooctl create": the verb without its noun.
    for (const auto* group : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (find_command(*group, given) != nullptr) {
        return fmt::format("there is no command 'zooctl {}', did you mean 'zooctl {} {}'?", given,
                           group->get_name(), given);
      }
    }
  }
  return text;
}

std::string unknown_option(const CLI::App& app, std::string_view given) {
  std::vector<std::string> names;
  for (const auto* option : options_of(app, true)) {
    for (auto& name : option_names(*option)) {
      if (name.starts_with("--")) names.push_back(std::move(name));
    }
  }
  return unknown("option", given, given, names,
                 fmt::format("`{} --help` lists the options", full_name(app)));
}

} // namespace

bool is_hidden(const CLI::App& app) { return app.get_name().starts_with("__"); }

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames())
    names.push_back("-" + name);
  for (const auto& name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, bool inherited) {
  std::vector<const CLI::Option*> out;
  for (const auto* at = &app; at != nullptr; at = inherited ? at->get_parent() : nullptr) {
    for (const auto* option : at->get_options([](const CLI::Option*) { return true; })) {
      if (option->nonpositional() && !(at != &app && option == at->get_help_ptr())) {
        out.push_back(option);
      }
    }
  }
  return out;
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  std::vector<const CLI::Option*> out;
  for (const auto* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_positional()) out.push_back(option);
  }
  return out;
}

const CLI::Option* find_option(const CLI::App& app, std::string_view name) {
  for (const auto* option : options_of(app, true)) {
    const auto names = option_names(*option);
    if (std::find(names.begin(), names.end(), name) != names.end()) return option;
  }
  return nullptr;
}

Walk walk(const CLI::App& root, std::span<const std::string> arguments) {
  Walk state;
  state.app = &root;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (state.open != nullptr) {
      state.open = nullptr;
      continue;
    }
    if (!state.options_ended && word == "--") {
      state.options_ended = true;
      continue;
    }
    if (!state.options_ended && word.size() > 1 && word.front() == '-') {
      const bool is_long = word.starts_with("--");
      const auto name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
      const auto* option = find_option(*state.app, name);
      if (option == nullptr) {
        state.problem = unknown_option(*state.app, name);
        return state;
      }
      const bool has_value = is_long ? name.size() != word.size() : word.size() > 2;
      if (takes_value(*option) && !has_value) state.open = option;
      continue;
    }
    const bool group = !state.app->get_subcommands([](const CLI::App*) { return true; }).empty();
    if (!group) {
      state.words.push_back(i);
      continue;
    }
    const auto* next = find_command(*state.app, word);
    if (next == nullptr) {
      state.problem = unknown_command(*state.app, word);
      return state;
    }
    state.app = next;
  }
  return state;
}

} // namespace zoo::cli
