// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace zoo::net {
class Loop;
}

namespace zoo::resources {

/// A one-shot timer; destroying it cancels. Loop thread only.
class Alarm {
public:
  virtual ~Alarm() = default;
};

/// What watches need of an event loop, so that their tests need none.
class Scheduler {
public:
  virtual ~Scheduler() = default;
  virtual void post(std::function<void()> task) = 0; ///< any thread; runs later on the loop
  /// Loop thread only.
  virtual std::unique_ptr<Alarm> after(std::chrono::milliseconds delay,
                                       std::function<void()> task) = 0;
};

/// Over a real loop, which must outlive it (library zoo_resources_loop).
std::unique_ptr<Scheduler> make_scheduler(net::Loop& loop);

} // namespace zoo::resources
