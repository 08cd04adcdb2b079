// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/inside_keeper.hpp"

#include "common/base/log.hpp"
#include "daemon/upstream/control_api.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace zoo::tenants {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds k_after_failure = 5s;
/// Between two looks, however often it is told: its own writes are told of, too.
constexpr std::chrono::milliseconds k_least = 500ms;

} // namespace

InsideKeeper::InsideKeeper(std::function<std::unique_ptr<upstream::ControlApi>()> connect,
                           InsideSettings settings, Inside::Parts parts,
                           std::function<void(const InsideState&)> changed)
    : connect_(std::move(connect)), changed_(std::move(changed)),
      inside_(std::move(settings), std::move(parts)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void InsideKeeper::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void InsideKeeper::touch() {
  const std::scoped_lock lock(mutex_);
  touched_ = true;
  wake_.notify_all();
}

void InsideKeeper::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "inside");
  const auto api = connect_();
  bool troubled = false;
  auto told = state()->access;
  while (!stop.stop_requested()) {
    {
      const std::scoped_lock lock(mutex_);
      touched_ = false;
    }
    const auto next = inside_.look(*api, Inside::Clock::now());
    if (!next && next.error().code() != Code::cancelled && !std::exchange(troubled, true))
      log::warning("tenants", "what pods of tenants need upstream is not looked after: {}",
                   next.error().text());
    if (next) troubled = false;
    const auto now = state();
    if (now->access != told) {
      told = now->access;
      log::info("tenants", "zood as the API server inside pods: {} ({})", told.message,
                told.reason);
      if (changed_) changed_(*now);
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, k_least, [] { return false; });
    wake_.wait_for(lock, stop, next ? *next - std::min(*next, k_least) : k_after_failure,
                   [this] { return touched_; });
  }
}

} // namespace zoo::tenants
