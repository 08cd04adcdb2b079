// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/loop.hpp"
#include "daemon/resources/scheduler.hpp"

namespace zoo::resources {
namespace {

class LoopAlarm final : public Alarm {
public:
  LoopAlarm(net::Loop& loop, std::chrono::milliseconds delay, std::function<void()> task)
      : timer_(loop) {
    timer_.start(delay, std::move(task));
  }

private:
  net::Timer timer_;
};

class LoopScheduler final : public Scheduler {
public:
  explicit LoopScheduler(net::Loop& loop) : loop_(loop) {}
  void post(std::function<void()> task) override { loop_.post(std::move(task)); }
  std::unique_ptr<Alarm> after(std::chrono::milliseconds delay,
                               std::function<void()> task) override {
    return std::make_unique<LoopAlarm>(loop_, delay, std::move(task));
  }

private:
  net::Loop& loop_;
};

} // namespace

std::unique_ptr<Scheduler> make_scheduler(net::Loop& loop) {
  return std::make_unique<LoopScheduler>(loop);
}

} // namespace zoo::resources
