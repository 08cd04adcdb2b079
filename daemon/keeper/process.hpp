// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"
#include "daemon/keeper/users.hpp"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace zoo::keeper {

/// Which process it is, so that it is found again by another keeper: a process number alone is
/// given to others after its end.
struct Identity {
  pid_t pid = 0;
  std::uint64_t started = 0; ///< clock ticks after the boot: field 22 of /proc/PID/stat, proc(5)
  dev_t device = 0;          ///< of the program's file, with:
  ino_t inode = 0;
};

/// A process of the keeper's, or of the keeper before it. One thread.
class Process {
public:
  struct Options {
    std::filesystem::path program;
    std::vector<std::string> arguments, environment; ///< argv from argv[0] on
    std::filesystem::path log;                       ///< what it says is appended, mode 0600
    std::filesystem::path directory;                 ///< in which it works
    int fence = -1; ///< of the files that it may open: Fence::descriptor(); -1: there is none
    /// Whose it is, of a keeper that is root; else the keeper's own user's.
    std::optional<User> user = {};
  };
  /// Starts it in a session of its own. `recorded` is told who it is before the program begins: if
  /// it fails, or the keeper dies in it, the program never does. Code::io.
  static Result<Process> start(const Options& options,
                               const std::function<Result<void>(const Identity&)>& recorded);
  /// The process of that identity, if it still runs. One that has not become the program yet is
  /// ended, since its keeper died before it said so.
  static std::optional<Process> adopt(const Identity& identity);

  const Identity& identity() const { return identity_; }
  int descriptor() const { return pidfd_.get(); } ///< readable for poll(2) once it has ended
  /// Why it ended ("exit status 1", "signal 9"; of one that was adopted "an end unseen"), or
  /// nothing while it runs.
  std::optional<std::string> ended();
  void terminate();  ///< SIGTERM
  void kill_group(); ///< SIGKILL, with all that it has started in its session

private:
  Process(Identity identity, file::Fd pidfd, bool child)
      : identity_(identity), pidfd_(std::move(pidfd)), child_(child) {}

  Identity identity_;
  file::Fd pidfd_;
  bool child_;
};

} // namespace zoo::keeper
