// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace zoo::app {

/// What the kernel tells of this process (proc(5)).
struct ProcessFacts {
  double cpu_seconds = 0; ///< that all its threads have run
  double started = 0;     ///< Unix seconds
  std::size_t threads = 0;
  std::size_t open_files = 0;
  std::size_t most_files = 0; ///< RLIMIT_NOFILE, the soft one
};

/// Nothing where /proc is not there. Reads a line for each descriptor; any thread.
std::optional<ProcessFacts> process_facts();

} // namespace zoo::app
