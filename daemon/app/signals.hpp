// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>

namespace zoo::app {

/// Signals as plain calls on one thread of their own. The constructor blocks the signals for every
/// thread that is started later, so make it before any other thread.
class Signals {
public:
  struct Handlers {
    std::function<void()> terminate; ///< SIGTERM, SIGINT; the second one ends the process at once
    std::function<void()> reload;    ///< SIGHUP
  };

  Signals();
  ~Signals();
  void start(Handlers handlers);

private:
  void run();
  Handlers handlers_;
  std::thread thread_;
};

/// Tells the service manager (sd_notify(3)); nothing happens outside systemd.
void notify_ready();
void notify_reloading();
void notify_stopping();
void notify_watchdog();
/// Half of WATCHDOG_USEC; zero where no watchdog is asked for.
unsigned long long watchdog_interval_microseconds();

} // namespace zoo::app
