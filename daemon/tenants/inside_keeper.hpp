// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/tenants/inside.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace zoo::tenants {

/// Looks after what pods need upstream (Inside): at once, when it is told that something of it has
/// changed, and once a minute. Thread "inside", from construction to stop().
class InsideKeeper {
public:
  /// `changed`: the access that pods have is another one than it was, the first one included; on
  /// this thread.
  InsideKeeper(std::function<std::unique_ptr<upstream::ControlApi>()> connect,
               InsideSettings settings, Inside::Parts parts,
               std::function<void(const InsideState&)> changed);

  void stop(); ///< waits for a look in progress; nothing is looked after from then on

  /// Something of it may be another one than it was. Any thread.
  void touch();
  std::shared_ptr<const InsideState> state() const { return inside_.state(); } ///< any thread
  const InsideSettings& settings() const { return inside_.settings(); }

private:
  void run(const std::stop_token& stop);

  const std::function<std::unique_ptr<upstream::ControlApi>()> connect_;
  const std::function<void(const InsideState&)> changed_;
  Inside inside_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool touched_ = false;
  std::jthread thread_; ///< last: it uses all the rest
};

} // namespace zoo::tenants
