// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"

#include <functional>
#include <optional>

namespace zoo::app {

/// What the command line asks for.
struct CommandLine {
  config::Values values;
  std::function<Result<config::Values>()> read; ///< the same again: file, then options over it
  std::optional<int> exit_status; ///< set: everything was said and done (--help, --check-config)
};

/// Parses, reads the configuration file if one is named, and lets options override it. Prints what
/// --help, --version, --check-config, --print-config and --print-upstream-rbac ask for, and every
/// mistake as a sentence on standard error.
CommandLine parse_command_line(int argc, char** argv);

} // namespace zoo::app
