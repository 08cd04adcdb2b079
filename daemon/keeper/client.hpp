// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/keeper/lines.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>

namespace zoo::keeper {

/// Asks the keeper. Blocking; any thread, each call has a connection of its own. Code::unavailable
/// if no keeper answers within ten seconds; else what the keeper says.
class Client {
public:
  explicit Client(std::filesystem::path socket) : socket_(std::move(socket)) {}

  Result<Reply> ask(const Request& request) const;
  /// Hears the state of each plan, then each change, until the keeper goes or `stop`.
  Result<void> watch(const std::stop_token& stop,
                     const std::function<void(const PlanState& state, bool removed)>& each) const;

private:
  std::filesystem::path socket_;
};

/// Starts `zood --keeper --detach` beside this one, and waits until it is in the background.
/// Its log is keeper.log in `directory` (DIR/clusters). `uid_base`: clusters.uid_base. Code::io.
Result<void> start_keeper(const std::filesystem::path& directory,
                          const std::filesystem::path& binaries, std::uint32_t uid_base);

} // namespace zoo::keeper
