// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/loop.hpp"

#include "common/base/log.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <exception>
#include <thread>

namespace zoo::net {

struct Loop::Impl {
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      context.get_executor()};
  std::atomic<std::thread::id> thread{std::thread::id()};
};

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() = default;

void Loop::run() {
  impl_->thread = std::this_thread::get_id();
  for (bool again = true; again;) {
    try {
      impl_->context.run();
      again = false;
    } catch (const std::exception& error) {
      log::error("net", "an exception reached the event loop: {}", error.what());
    } catch (...) {
      log::error("net", "an unknown exception reached the event loop");
    }
  }
  impl_->thread = std::thread::id();
}

void Loop::stop() { impl_->context.stop(); }

void Loop::post(std::function<void()> task) { boost::asio::post(impl_->context, std::move(task)); }

bool Loop::on_thread() const { return impl_->thread.load() == std::this_thread::get_id(); }

bool Loop::running() const { return impl_->thread.load() != std::thread::id(); }

boost::asio::io_context& Loop::context() { return impl_->context; }

struct Timer::Impl {
  explicit Impl(Loop& loop) : timer(loop.context()) {}
  boost::asio::steady_timer timer;
  std::uint64_t generation = 0;
};

Timer::Timer(Loop& loop) : impl_(std::make_shared<Impl>(loop)) {}
Timer::~Timer() {
  if (impl_) cancel();
}
Timer::Timer(Timer&&) noexcept = default;

void Timer::start(std::chrono::milliseconds after, std::function<void()> task) {
  const auto generation = ++impl_->generation;
  impl_->timer.expires_after(after);
  impl_->timer.async_wait(
      [impl = impl_, generation, task = std::move(task)](const boost::system::error_code& error) {
        if (!error && impl->generation == generation) task();
      });
}

void Timer::cancel() {
  ++impl_->generation; // one that has expired already must not run either
  impl_->timer.cancel();
}

} // namespace zoo::net
