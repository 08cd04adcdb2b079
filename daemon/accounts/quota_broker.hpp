// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/quota/judge.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

/// The Judge of all quotas, asked from any thread: who has to wait for room waits here, and is told
/// when it is there, or when the time is over. What is to be moved for that it asks of the
/// QuotaKeeper. Its clock is a timer on one loop; destroyed when that has stopped, and nobody asks
/// any more.
class QuotaBroker {
public:
  using Verdict = quota::Judge::Verdict;
  using Done = std::function<void(const Verdict&)>;
  struct Parts {
    net::Loop& loop;
    /// Somebody of this owner waits for room, or a slice is to be repaired. Any thread; must not
    /// block.
    std::function<void(const std::string& owner)> move;
    /// What was let in and was not seen is to be looked for: Judge::doubts().
    std::function<void(const std::string& owner)> doubt;
    /// Upstream waits for 1 s in all.
    std::chrono::milliseconds deadline{700};
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
  };
  explicit QuotaBroker(Parts parts);

  /// For as long as this lives, `done` may come; destroyed before, the reservation goes.
  class Waiting {
  public:
    Waiting(QuotaBroker& broker, std::uint64_t id) : broker_(broker), id_(id) {}
    Waiting(const Waiting&) = delete;
    ~Waiting() { broker_.leave(id_, false); }
    /// Upstream waits no longer, and creates it without an answer: it counts as let in.
    void go_on() { broker_.leave(id_, true); }

  private:
    QuotaBroker& broker_;
    const std::uint64_t id_;
  };
  /// Answers at once where it can: `verdict`. Else `waiting`, and `done` comes once, on any thread,
  /// with a lock held: it must only post. Never blocks.
  struct Asked {
    std::optional<Verdict> verdict;
    std::unique_ptr<Waiting> waiting;
  };
  Asked ask(quota::Judge::Ask ask, Done done);
  /// What was let in did not come to be: upstream has refused it for another reason.
  void refused(const quota::Judge::Ask& ask);

  /// Tells the Judge something, or asks it, under the lock; whoever waits is looked at again.
  template <class F>
  auto with(F f) {
    const std::lock_guard lock(mutex_);
    if constexpr (std::is_void_v<decltype(f(judge_))>) {
      f(judge_);
      look(nullptr);
    } else {
      auto out = f(judge_);
      look(nullptr);
      return out;
    }
  }
  template <class F>
  auto read(F f) const {
    const std::lock_guard lock(mutex_);
    return f(std::as_const(judge_));
  }
  /// Judge::doubts() of this owner have been looked for: whoever was refused because of them is
  /// judged again.
  void doubts_settled(const std::string& owner);

  struct Counts { ///< since the start
    std::uint64_t allowed = 0, moved = 0, denied = 0, late = 0, left = 0;
    std::uint64_t waited_us = 0; ///< of those that waited and were let in
    std::size_t waiting = 0, objects = 0, reserved = 0;
  };
  Counts counts() const;
  void start(); ///< the clock; any thread

private:
  using Clock = std::chrono::steady_clock;
  struct Waiter {
    quota::Judge::Ask ask;
    Done done;
    Clock::time_point since, until;
    std::vector<std::string> owners; ///< whose room it waits for, or whose doubts
    std::optional<Verdict> denied;   ///< it waits for doubts: what it is told if they stand
  };
  void leave(std::uint64_t id, bool goes_on);
  void look(const std::string* settled); ///< at whoever waits; under the lock
  void move(const Waiter& waiter);
  void tick();
  void wake();

  const Parts parts_;
  mutable std::mutex mutex_;
  quota::Judge judge_;
  std::map<std::uint64_t, Waiter> waiters_; ///< in the order in which they came
  std::uint64_t next_ = 1;
  Counts counts_;
  net::Timer timer_; ///< on the loop
  std::atomic<bool> soon_ = false;
};

} // namespace zoo::accounts
