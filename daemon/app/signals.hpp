// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace zoo::app {

/// Signals as plain calls on one thread of their own, which the constructor starts; until start()
/// SIGTERM and SIGINT end the process as if nobody were there, and SIGHUP waits. It blocks the
/// signals for every thread that is started later, so make it before any other thread.
class Signals {
public:
  struct Handlers {
    std::function<void()> terminate; ///< SIGTERM, SIGINT; the second one ends the process at once
    std::function<void()> reload;    ///< SIGHUP
  };

  Signals();
  ~Signals();
  void start(Handlers handlers);
  void ignore_reloads(); ///< from now on; waits for one in progress. Any thread

private:
  void run();
  std::mutex mutex_; ///< of the next two; held while one reloads
  Handlers handlers_;
  bool early_reload_ = false; ///< asked for before start()
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

/// Tells the service manager (sd_notify(3)); nothing happens outside systemd.
void notify_ready();
void notify_reloading();
void notify_stopping();
void notify_watchdog();
/// What finds in the journal what this program writes to standard error: matches of
/// sd_journal_add_match(3), all of which must hold, with blanks between; empty: it is not connected
/// to the journal (JOURNAL_STREAM, systemd.exec(5)).
std::string journal_match();
/// Where standard error is the journal, zood's own lines go there with fields: PRIORITY, ROOM (a
/// folder of daemon/), and what a line is about, as TENANT. Before any thread.
void log_to_journal();
/// Half of WATCHDOG_USEC; zero where no watchdog is asked for.
unsigned long long watchdog_interval_microseconds();

} // namespace zoo::app
