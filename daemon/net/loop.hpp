// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::net {

struct Address;
class Socket;

/// One event loop on epoll(7), run by one thread. A connection, its streams and their exchanges
/// live and die on one loop. Only post(), stop() and the questions may be called from other
/// threads. A turn is: what was posted (of very much, some), what is due, some of what can wait,
/// what the sockets say. Destroyed after all that is on it, when no thread runs it; what has not
/// run by then goes with it.
class Loop {
public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();  ///< until stop(); catches and logs what a handler throws, then goes on
  void stop(); ///< any thread; for good
  void post(std::function<void()> task); ///< any thread; runs later on the loop's thread, in order
  /// Loop thread only. What takes long and can wait, such as the arithmetic of a handshake: in
  /// order, for half the time that the rest of a turn took, or one of them, so that a thousand do
  /// not keep all others waiting, nor others them. False: there was nothing left for it to do.
  void defer(std::function<bool()> task);
  bool on_thread() const; ///< is the caller the loop's thread?
  bool running() const;   ///< any thread: is some thread inside run()?

  /// Asks the system's resolver, which may block for seconds, on a thread of its own; `done` runs
  /// on the loop with what it found, nothing if there is no such host. For the files of daemon/net.
  using Resolved = std::function<void(std::vector<Address>)>;
  void resolve(std::string host, std::uint16_t port, Resolved done);

private:
  friend class Socket;
  friend class Timer;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Runs `task` on the loop's thread and waits for it; here and now if no thread runs the loop, or
/// none does any more. What it throws is thrown here. Any thread.
void run_and_wait(Loop& loop, const std::function<void()>& task);

/// A one-shot timer on a loop. Cancelled by destruction or by another start(). Loop thread only.
class Timer {
public:
  explicit Timer(Loop& loop);
  ~Timer();
  Timer(Timer&&) noexcept;
  void start(std::chrono::microseconds after, std::function<void()> task);
  void cancel();

private:
  friend class Loop;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::net
