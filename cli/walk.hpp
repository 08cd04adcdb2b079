// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

/// Reading a command line along the command tree without running it: for completion, for "did you
/// mean", and for `zooctl kubectl`, whose words from the tenant on are kubectl's.
namespace zoo::cli {

struct Walk {
  const CLI::App* app = nullptr;     ///< the deepest command reached
  std::vector<std::size_t> words;    ///< indexes of the words that are the command's own arguments
  const CLI::Option* open = nullptr; ///< the last argument was this option: its value follows
  bool options_ended = false;        ///< after "--"
  std::string problem; ///< what cannot be right, with what was meant; "" if nothing is seen
};

/// `arguments` without argv[0]. Stops at the first problem.
Walk walk(const CLI::App& root, std::span<const std::string> arguments);

/// The option of that name ("--wait", "-o") in the command or in those above it.
const CLI::Option* find_option(const CLI::App& app, std::string_view name);

bool takes_value(const CLI::Option& option);
bool is_hidden(const CLI::App& app);

/// "-o", "--output"; of a flag its negations too.
std::vector<std::string> option_names(const CLI::Option& option);

/// The options of a command, without --help's repetitions: its own, and those of the top where
/// `inherited`.
std::vector<const CLI::Option*> options_of(const CLI::App& app, bool inherited);
std::vector<const CLI::Option*> positionals_of(const CLI::App& app);

} // namespace zoo::cli
