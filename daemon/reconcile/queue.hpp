// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
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
  /// What time it is: Clock::now, but for tests, which do not wait for it. Any thread.
  using Now = std::function<Clock::time_point()>;
  Queue() : Queue(Pauses()) {}
  explicit Queue(const Pauses& pauses, Now now = Clock::now)
      : pauses_(pauses), now_(std::move(now)) {}

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
    Clock::time_point done{}; ///< when it was worked on last
    unsigned attempts = 0;
    bool running = false, woken = false, touched = false;
  };
  void schedule(const std::string& key, Item& item, Clock::time_point due);
  std::optional<Work> first_due(); ///< under the lock

  const Pauses pauses_;
  const Now now_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Item> items_;
  Clock::time_point next_touched_{}; ///< when another one that is touched may be due
  std::set<std::pair<Clock::time_point, std::string>> due_;
};

} // namespace zoo::reconcile
