// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/reconcile/queue.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

/// Controllers that are level-triggered: a key says what to look at, and a look makes it as it
/// should be, whatever has happened before.
namespace zoo::reconcile {

/// When to look again.
struct Next {
  std::optional<std::chrono::milliseconds> after; ///< nothing: when the key is added again
  /// The look came to its end and waits for something else: no attempt is counted, however soon
  /// the next look is.
  bool waits = false;
};

/// What a runner has done since it was made.
struct Counts {
  std::string name;                   ///< of its threads
  std::size_t waiting = 0;            ///< keys that are due, or will be
  std::uint64_t done = 0, failed = 0; ///< looks
};

struct Reconciler {
  std::string name; ///< of its threads: "tenants" for "tenants-1", "tenants-2", ...
  /// One look, on one of the threads. It blocks, and may be repeated after it failed in the
  /// middle. `attempts`: how many times in a row it was not there yet.
  std::function<Result<Next>(const std::string& key, unsigned attempts)> look;
  /// A look failed, and is tried again later; not told if zood ends (Code::cancelled).
  std::function<void(const std::string& key, const Error& error)> failed;
  /// A look that is to be repeated sooner was not there yet.
  std::chrono::milliseconds settled{60'000};
  std::chrono::milliseconds retry{200}; ///< after the first failure; doubles up to 300 times
};

/// A Reconciler's threads. Each key is looked at by one of them at a time.
class Runner {
public:
  /// The queue outlives it.
  Runner(Reconciler reconciler, Queue& queue) : reconciler_(std::move(reconciler)), queue_(queue) {}
  ~Runner(); ///< waits for looks in progress
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  void start(unsigned threads);
  /// Does this process lead? One that does not keeps the keys that are due, and looks at them when
  /// it begins to lead. A runner leads from the start. Any thread; does not wait for looks in
  /// progress.
  void lead(bool leads);
  Counts counts() const; ///< any thread
  /// Looks at every key that is due, on this thread: for tests, without threads of its own.
  void run_due();

private:
  void look(const Queue::Work& work);
  bool keep(const std::string& key); ///< false: it leads, and looks at it

  const Reconciler reconciler_;
  Queue& queue_;
  std::mutex mutex_; ///< for both of these
  bool leads_ = true;
  std::atomic<std::uint64_t> done_{0}, failed_{0};
  std::set<std::string> kept_;
  std::vector<std::jthread> threads_;
};

/// A quarter more or less, so that what failed together is not tried again together.
std::chrono::milliseconds jittered(std::chrono::milliseconds middle);

} // namespace zoo::reconcile
