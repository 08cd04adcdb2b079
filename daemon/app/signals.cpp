// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/signals.hpp"

#include "common/base/deleter.hpp"
#include "common/base/log.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>
#define SD_JOURNAL_SUPPRESS_LOCATION // of this file, for all lines
#include <systemd/sd-journal.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace zoo::app {
namespace {

sigset_t handled() {
  sigset_t set;
  sigemptyset(&set);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGUSR2})
    sigaddset(&set, each);
  return set;
}

/// There is nothing yet that could end in order, and whoever waits for it sees by what it ended.
[[noreturn]] void end_by(int number) {
  log::info("app", "ended by signal {} before it had begun", number);
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(number);
  _exit(128 + number);
}

} // namespace

Signals::Signals() {
  const auto set = handled();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  thread_ = std::thread([this] { run(); });
}

void Signals::start(Handlers handlers) {
  const std::scoped_lock lock(mutex_);
  handlers_ = std::move(handlers);
  if (early_reload_) pthread_kill(thread_.native_handle(), SIGHUP);
}

Signals::~Signals() {
  over_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
}

void Signals::ignore_reloads() {
  const std::scoped_lock lock(mutex_);
  handlers_.reload = nullptr;
}

void Signals::run() {
  pthread_setname_np(pthread_self(), "signals");
  const auto set = handled();
  bool terminating = false;
  for (;;) {
    int number = 0;
    if (sigwait(&set, &number) != 0) continue;
    if (number == SIGUSR2) {
      if (over_) return; // else somebody's, who means another program
    } else if (number == SIGHUP) {
      const std::scoped_lock lock(mutex_);
      if (handlers_.reload) handlers_.reload();
      early_reload_ = true;
    } else if (terminating) {
      _exit(130);
    } else {
      terminating = true;
      const auto terminate = [this] {
        const std::scoped_lock lock(mutex_);
        return handlers_.terminate;
      }();
      if (!terminate) end_by(number);
      terminate();
    }
  }
}

void notify_ready() { sd_notify(0, "READY=1"); }
void notify_reloading() { sd_notify(0, "RELOADING=1"); }
void notify_stopping() { sd_notify(0, "STOPPING=1"); }
void notify_watchdog() { sd_notify(0, "WATCHDOG=1"); }

std::string journal_match() {
  if (!log::to_journal()) return {};
  using Text = std::unique_ptr<char, Deleter<std::free>>;
  const auto service = [](int (*ask)(pid_t, char**)) { // a session is more than this program
    char* unit = nullptr;
    const Text owner(ask(0, &unit) < 0 ? nullptr : unit);
    std::string out = owner ? owner.get() : "";
    return out.ends_with(".service") ? out : std::string();
  };
  if (const auto unit = service(sd_pid_get_user_unit); !unit.empty())
    return fmt::format("_UID={} _SYSTEMD_USER_UNIT={}", ::getuid(), unit);
  if (const auto unit = service(sd_pid_get_unit); !unit.empty())
    return fmt::format("_SYSTEMD_UNIT={}", unit);
  sd_id128_t boot{};
  if (sd_id128_get_boot(&boot) < 0) return {};
  char text[SD_ID128_STRING_MAX];
  return fmt::format("_BOOT_ID={} _PID={}", sd_id128_to_string(boot, text), ::getpid());
}

namespace {

bool send_to_journal(LogLevel level, std::string_view category, std::string_view line,
                     log::Fields fields) {
  const char* const priority = level == LogLevel::debug     ? "PRIORITY=7"
                               : level == LogLevel::info    ? "PRIORITY=6"
                               : level == LogLevel::warning ? "PRIORITY=4"
                                                            : "PRIORITY=3";
  std::vector<std::string> texts{priority, "SYSLOG_IDENTIFIER=zood",
                                 fmt::format("ROOM={}", category),
                                 fmt::format("MESSAGE={}: {}", category, line)};
  for (const auto& [name, value] : fields) {
    if (!value.empty()) texts.push_back(fmt::format("{}={}", name, value));
  }
  std::vector<iovec> parts;
  for (auto& text : texts)
    parts.push_back({text.data(), text.size()});
  return sd_journal_sendv(parts.data(), static_cast<int>(parts.size())) == 0;
}

} // namespace

void log_to_journal() {
  if (log::to_journal()) log::set_journal(send_to_journal);
}

unsigned long long watchdog_interval_microseconds() {
  std::uint64_t interval = 0;
  return sd_watchdog_enabled(0, &interval) > 0 ? interval / 2 : 0;
}

} // namespace zoo::app
