// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <unordered_map>

namespace zoo::clusters::sync {

/// Which of a cluster's own goes first.
enum class Lane : std::uint8_t {
  first, ///< ends, states, nodes
  then,  ///< what is new
};

/// What is to be looked at, cluster by cluster: each has its turns, by its weight, however much the
/// others want (deficit round robin). A key stands in it once, and is handed to one worker at a
/// time; one that is added while it is worked on is handed out again afterwards.
///
/// Workers block in calls that a cluster's own API server may draw out, so turns alone would not be
/// fair. While others wait, no cluster has more than half of the workers; and none that has one has
/// the last that is free. A cluster is slow while, and for a minute after, a piece of work takes
/// longer than k_slow: while others wait it has one worker, and all slow ones together have half of
/// them at most, so that the other half is there for who is quick. Any thread.
class FairQueue {
public:
  static constexpr std::chrono::seconds k_slow{2}, k_slow_for{60};

  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  struct Work {
    std::string cluster, key;
    unsigned attempts = 0; ///< how many times in a row it was given back with `again`
  };

  /// `workers`: that take from it. `now`: what time it is, for tests.
  explicit FairQueue(std::size_t workers, Now now = Clock::now)
      : workers_(workers), now_(std::move(now)) {}

  /// One of weight 200 has twice the turns of one of weight 100, which is what all have at first.
  void set_weight(const std::string& cluster, unsigned weight);
  /// Due after `delay`, or earlier if it already was.
  void add(const std::string& cluster, const std::string& key, Lane lane,
           Clock::duration delay = Clock::duration::zero());
  std::optional<Work> take(const std::stop_token& stop); ///< waits; nothing after a stop
  std::optional<Work> take_due();                        ///< nothing if none is due
  /// The worker is done with it: due again after `again`; nothing: forget it. An attempt is counted
  /// if `failed`.
  void done(const Work& work, std::optional<Clock::duration> again, bool failed);
  /// Forgets all that is to be done for a cluster, and waits until nobody works for it.
  void forget(const std::string& cluster);

  std::size_t size(const std::string& cluster) const; ///< that is due or worked on
  std::size_t clusters() const;                       ///< that have something to be done
  bool slow(const std::string& cluster) const;

private:
  struct Item {
    Lane lane = Lane::then;
    unsigned attempts = 0;
    bool queued = false, running = false, woken = false;
    std::optional<Clock::time_point> due; ///< in `later_`
    Clock::time_point began{};            ///< of what is running
  };
  struct Flow {
    unsigned weight = 100;
    std::int64_t credit = 0;
    std::size_t running = 0;
    bool in_ring = false;
    std::optional<Clock::time_point> slow_until;
    std::multiset<Clock::time_point> began; ///< of all that is running
    std::deque<std::string> lanes[2];
    std::unordered_map<std::string, Item> items;
    bool waits() const { return !lanes[0].empty() || !lanes[1].empty(); }
    bool slow(Clock::time_point now) const {
      return (slow_until && now < *slow_until) || (!began.empty() && now - *began.begin() > k_slow);
    }
  };
  void enqueue(const std::string& cluster, Flow& flow, const std::string& key, Item& item);
  void put_later(const std::string& cluster, const std::string& key, Item& item,
                 Clock::time_point due);
  void drop_later(const std::string& cluster, const std::string& key, Item& item);
  void wake_due();
  std::optional<Work> next(); ///< under the lock
  /// What they have that has the workers now.
  struct Taken {
    std::size_t all = 0, by_slow = 0;
  };
  Taken taken(Clock::time_point now) const;
  bool may_have(const Flow& flow, const Taken& had, Clock::time_point now) const;
  void tidy(const std::string& cluster);

  const std::size_t workers_;
  const Now now_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t changes_ = 0; ///< that take() has to look at
  std::map<std::string, Flow> flows_;
  std::list<std::string> ring_; ///< clusters of which something waits, the next one first
  std::set<std::tuple<Clock::time_point, std::string, std::string>> later_;
  std::set<const Flow*> busy_; ///< those that have a worker
};

} // namespace zoo::clusters::sync
