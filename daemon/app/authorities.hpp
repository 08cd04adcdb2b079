// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace zoo::app {

/// The authorities that pods verify the tenants' door by: those that kubeconfigs trust, and those
/// that they have trusted in the time that a certificate of the door lives, since a pod may not
/// have heard of the change (docs/ca-rotation.md). They are remembered in a file of certificates,
/// each with a line before it that says until when. One thread at a time.
class Authorities {
public:
  using Time = std::chrono::system_clock::time_point;
  static constexpr std::chrono::hours k_kept{365 * 24};
  static constexpr std::size_t k_most = 16; ///< what was trusted longest ago goes first

  explicit Authorities(std::filesystem::path file) : file_(std::move(file)) {}

  /// As PEM, `trusted` first; each certificate once. Code::invalid: `trusted` has none. A file that
  /// cannot be read or written is told of in the log, and what is trusted is the answer.
  Result<std::string> bundle(std::string_view trusted, Time now);

private:
  const std::filesystem::path file_;
};

} // namespace zoo::app
