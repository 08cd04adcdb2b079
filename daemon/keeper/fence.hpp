// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/file.hpp"
#include "common/base/result.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace zoo::keeper {

/// What a program may do with files beside those of the system that every program reads: its
/// libraries, resolv.conf and the like, /proc, /sys. Of a directory: with all that is in it.
struct FenceWish {
  std::vector<std::filesystem::path> reads, runs, writes;
};

/// Holds a program, and what it starts, to some files: Landlock (landlock(7)), which needs no
/// privilege, so that programs of one user cannot open each other's keys and data
/// (docs/decisions/343-files-of-a-control-plane.md). From Linux 6.12 on they send no signals
/// beyond it either. Sockets that are already bound to a path are not behind it.
class Fence {
public:
  /// With a kernel that has no Landlock the fence holds nothing: see fence_trouble(). Code::io.
  static Result<Fence> around(const FenceWish& wish);
  int descriptor() const { return rules_.get(); } ///< for enter_fence(); -1: it holds nothing

private:
  explicit Fence(file::Fd rules) : rules_(std::move(rules)) {}
  file::Fd rules_;
};

/// From then on the calling process is behind it, for good. May be called between fork(2) and
/// execve(2). False: it is not, and must not go on.
bool enter_fence(int descriptor) noexcept;

/// Why this kernel has no fences, in one sentence; "": it has.
std::string fence_trouble();

} // namespace zoo::keeper
