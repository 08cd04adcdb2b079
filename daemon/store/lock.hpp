// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"

#include <filesystem>

namespace zoo::store {

/// Holds flock(2) on <directory>/zood.lock, which names the holder's process ID, for as long as it
/// lives; the kernel lets go when the process dies, so that a stale lock cannot exist.
class DirectoryLock {
public:
  /// Makes the directory (0700) if missing. Code::conflict if somebody holds it, Code::io.
  static Result<DirectoryLock> acquire(const std::filesystem::path& directory);

private:
  explicit DirectoryLock(file::Fd fd) : fd_(std::move(fd)) {}
  file::Fd fd_;
};

} // namespace zoo::store
