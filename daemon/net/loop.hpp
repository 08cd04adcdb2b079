// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace zoo::net {

class Timer;

/// One event loop: an io_context run by one thread. A connection, its streams and their exchanges
/// live and die on one loop. Only post() may be called from other threads.
class Loop {
public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();  ///< until stop(); catches and logs what a handler throws, then goes on
  void stop(); ///< any thread
  void post(std::function<void()> task); ///< any thread; runs later on the loop's thread
  bool on_thread() const;                ///< is the caller the loop's thread?
  bool running() const;                  ///< any thread: is some thread inside run()?

  /// For the files of daemon/net alone.
  boost::asio::io_context& context();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A one-shot timer on a loop. Cancelled by destruction or by another start(). Loop thread only.
class Timer {
public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(Timer&&) noexcept;
  void start(std::chrono::milliseconds after, std::function<void()> task);
  void cancel();

private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

} // namespace zoo::net
