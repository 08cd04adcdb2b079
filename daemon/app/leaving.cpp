// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/leaving.hpp"

#include "common/base/log.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace zoo::app {
namespace {

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

} // namespace

LeaveTimes leave_times(const config::Values& values) {
  LeaveTimes out;
  // Where nobody can ask whether zood is ready, nobody is to be waited for.
  if (!values.string("health.listen").empty()) out.delay = values.duration("drain.delay");
  out.drain.deadline = values.duration("drain_timeout");
  out.drain.spread = std::min(values.duration("drain.watches"), out.drain.deadline / 2);
  return out;
}

void leave(Health* health, const LeaveTimes& times, const std::vector<net::Listener*>& listeners) {
  if (health != nullptr) health->set(Health::State::leaving);
  if (health != nullptr && times.delay.count() > 0) {
    log::info("app", "leaving: not ready any more, and the doors stay open for {} s",
              seconds(times.delay));
    std::this_thread::sleep_for(times.delay); // a second SIGTERM ends the process meanwhile
  }
  log::info("app", "leaving: watches end within {} s, and requests in progress have {} s",
            seconds(times.drain.spread), seconds(times.drain.deadline));
  std::mutex mutex;
  std::condition_variable done;
  std::size_t left = listeners.size();
  const auto over = [&] {
    const std::scoped_lock lock(mutex);
    --left;
    done.notify_all();
  };
  for (auto* each : listeners) {
    if (each == nullptr) {
      over();
    } else {
      each->drain(times.drain, over);
    }
  }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
}

} // namespace zoo::app
