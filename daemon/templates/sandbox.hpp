// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// Runs a program that is not to be trusted with what it is given: it reads the files that it is
/// shown and no others (Landlock), and has nothing of zood's: no environment, no descriptors, no
/// privileges, and only as much time and memory as is said.
/// https://docs.kernel.org/userspace-api/landlock.html
namespace zoo::templates {

struct SandboxLimits {
  std::chrono::seconds cpu{10};           ///< RLIMIT_CPU
  std::chrono::milliseconds wall{30'000}; ///< killed behind it
  std::size_t memory = 1u << 30;          ///< RLIMIT_DATA: what it has for itself
  std::size_t file = 16u << 20;           ///< RLIMIT_FSIZE: of each file that it writes
  std::size_t output = 4u << 20;          ///< of its standard output; killed above it
};

struct SandboxWish {
  std::filesystem::path program;
  std::vector<std::string> arguments;          ///< without the program's name
  std::vector<std::string> environment;        ///< "NAME=value", all of it
  std::string input;                           ///< of its standard input
  std::filesystem::path directory;             ///< where it may read and write; it starts there
  std::vector<std::filesystem::path> readable; ///< files and directories beside
  bool network = false;                        ///< may it open sockets?
  SandboxLimits limits;
};

/// What it wrote on its standard output, if its exit status is 0. Code::invalid with what it said
/// last on standard error, or with the limit that it met (in bytes or seconds); Code::unavailable
/// where the kernel has no Landlock, for nothing runs without it; Code::internal. Blocks. Any
/// thread; the child dies with the thread that called.
Result<std::string> run_in_sandbox(const SandboxWish& wish);

/// The version of Landlock that the kernel has; 0: none.
int landlock_version();

} // namespace zoo::templates
