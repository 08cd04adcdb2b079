// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>

namespace zoo::reconcile {

/// Keys that are due at some time, each handed to one worker at a time. A key that is added while
/// it is worked on is handed out again afterwards. Any thread.
class Queue {
public:
  using Clock = std::chrono::steady_clock;

  struct Work {
    std::string key;
    unsigned attempts = 0; ///< how many times in a row it was returned with `again`
  };

  /// Due after `delay`, or earlier if it already was. Starts the count of attempts anew when it is
  /// due at once.
  void add(std::string key, Clock::duration delay);
  /// What touch() waits for.
  struct Pauses {
    std::chrono::milliseconds settle{1'000}; ///< other changes may come with it
    /// Since it was done last: whoever makes these changes may go on.
    std::chrono::milliseconds rest{10'000};
    std::chrono::milliseconds pace{25}; ///< between two that were touched
  };
  /// Keys that are worked on for long hold their workers: those whose last work took longer than
  /// `slow`, and those that are worked on for longer than that. As long as `workers` of them are
  /// held, other keys whose last work was slow stay due.
  struct Bound {
    std::chrono::milliseconds slow{1'000};
    std::size_t workers = SIZE_MAX; ///< one at least; SIZE_MAX: all of them
  };
  /// What time it is: Clock::now, but for tests, which do not wait for it. Any thread.
  using Now = std::function<Clock::time_point()>;
  Queue() : Queue(Pauses()) {}
  explicit Queue(const Pauses& pauses, Now now = Clock::now)
      : pauses_(pauses), now_(std::move(now)) {}
  explicit Queue(const Bound& bound, Now now = Clock::now) : bound_(bound), now_(std::move(now)) {}

  /// What the key is about has changed: due soon. Nothing if it is not known.
  void touch(const std::string& key);
  /// Waits for a due key; nothing after a stop.
  std::optional<Work> take(const std::stop_token& stop);
  std::optional<Work> take_due(); ///< the same without waiting: nothing if no key is due
  /// The worker is done with it: due again after `delay` (nothing: forget it). `again`: it did not
  /// come to its end, count an attempt.
  void done(const std::string& key, std::optional<Clock::duration> delay, bool again);
  std::size_t size() const;

private:
  struct Item {
    Clock::time_point due;
    Clock::time_point begun{}, done{}; ///< when it was worked on last
    unsigned attempts = 0;
    bool running = false, woken = false, touched = false;
    bool slow = false; ///< its last work was
    bool held = false; ///< it was due, and no worker was left for it
  };
  void schedule(const std::string& key, Item& item, Clock::time_point due);
  std::optional<Work> first_due();                           ///< under the lock
  bool holds(const Item& item, Clock::time_point now) const; ///< its worker, for long
  bool may_run(const Item& item, Clock::time_point now) const;

  const Pauses pauses_;
  const Bound bound_;
  const Now now_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Item> items_;
  Clock::time_point next_touched_{}; ///< when another one that is touched may be due
  std::set<std::pair<Clock::time_point, std::string>> due_;
  std::set<std::pair<Clock::time_point, std::string>> held_; ///< of due_, until a worker is left
  std::set<std::string> running_;
};

} // namespace zoo::reconcile
