// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace zoo::cli {

class Command;
struct CommandEntry;

/// The parser with every command hung in; the options' values go into `globals`, which must
/// outlive it. One command line is parsed once.
class CommandTree {
public:
  explicit CommandTree(Globals& globals);
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  CLI::App& root() { return *root_; }
  Command* command_of(const CLI::App* app) const; ///< null for groups and the root

private:
  std::vector<CommandEntry> entries_;
  std::vector<const CLI::App*> apps_; ///< beside entries_
  std::unique_ptr<CLI::App> root_;
};

/// Runs one command line (without argv[0]) and returns the exit status. Errors are said on
/// context.err as "zooctl: ...". Also the two hidden commands: __complete WORDS... and
/// __dump [--man TEMPLATE].
int run(const std::vector<std::string>& arguments, Context& context);

} // namespace zoo::cli
