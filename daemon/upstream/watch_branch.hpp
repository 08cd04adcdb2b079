// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/watch_filter.hpp"
#include "daemon/upstream/watch_owner.hpp"
#include "daemon/upstream/watch_parts.hpp"

#include <chrono>
#include <random>
#include <set>
#include <unordered_map>

/// The subscribers' side of the shared watches, on one loop. Loop thread only.
namespace zoo::upstream {

class Subscriber;
using Clock = std::chrono::steady_clock;

/// The subscribers of one kind on one loop, found by their tenants' prefixes.
class Listeners {
public:
  explicit Listeners(WatchKindPtr kind) : kind_(std::move(kind)) {}

  void add(Subscriber& subscriber);
  void remove(Subscriber& subscriber);
  void hear(const std::vector<Said>& batch);
  bool idle() const { return all_.empty() && busy_ == 0; }
  const WatchKindPtr& kind() const { return kind_; }
  /// How far the feed was heard here: what came to these subscribers up to there is all there was.
  std::uint64_t position_of(std::uint32_t feed) const;

  // What a hub says, in order with its events.
  struct Joined {
    std::uint64_t id = 0;
    std::uint32_t feed = 0;
    std::uint64_t position = 0; ///< of the feed
    bool stalled = false;
    std::vector<EventPtr> backlog;
    http::ResponseHead head; ///< of the feed: see WatchRequest::heard
  };
  void joined(const Joined& joined);
  void alone(std::uint64_t id);                      ///< it cannot be served here
  void ended(std::uint64_t id, const WatchEnd& end); ///< it never began
  void over(std::uint64_t id);                       ///< in order: it goes on from where it is
  /// The subscribers of `from`, which stands at `stood`, belong to `to`, which stands at
  /// `position`, from now on; `backlog` is what `to` has had since `stood`.
  void moved(std::uint32_t from, std::uint64_t stood, std::uint32_t to, std::uint64_t position,
             const std::vector<EventPtr>& backlog);
  void bookmark(std::uint32_t feed, std::uint64_t version);
  void stalled(std::uint32_t feed, bool stalled);
  void closed(std::uint32_t feed);
  void expired(std::uint32_t feed); ///< 410 for all, over a while

private:
  using Members = std::vector<Subscriber*>;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  Members& members_of(const std::string& bucket);
  void event(std::uint32_t feed, const EventPtr& event);
  void offer(std::uint32_t feed, const EventPtr& event);
  Subscriber* find(std::uint64_t id) const;
  std::vector<std::uint64_t> of_feed(std::uint32_t feed) const;

  WatchKindPtr kind_;
  std::unordered_map<std::uint64_t, Subscriber*> all_;
  std::unordered_map<std::string, Members, Hash, std::equal_to<>> by_bucket_;
  Members any_;
  std::map<std::uint32_t, std::uint64_t> positions_; ///< by feed
  std::size_t busy_ = 0;                             ///< members are being called
  std::vector<std::string> holes_;                   ///< buckets of those who left meanwhile
};

/// All subscribers of one loop, of all kinds.
class Branch {
public:
  Branch(SharedWatches::Impl& shared, std::size_t index);
  ~Branch();

  std::unique_ptr<WatchSubscription> subscribe(WatchKindPtr kind, WatchRequest request,
                                               std::optional<WatchFilter> filter,
                                               std::string key_prefix, std::uint64_t version,
                                               WatchHandler& handler);
  void hear(const std::string& kind, const std::vector<Said>& batch);
  std::shared_ptr<WatchOwner> owner(const std::string& id); ///< what is counted for this tenant

private:
  friend class Subscriber;
  Subscriber* find(std::uint64_t id) const;
  void add(Subscriber& subscriber);
  void remove(Subscriber& subscriber);
  void forget_if_idle(Listeners& listeners);
  void set_deadline(const Subscriber& subscriber, Clock::time_point before, Clock::time_point when);
  std::chrono::milliseconds random_below(std::chrono::milliseconds most);
  void arm();
  void ring();
  /// Its tenant may hold no more now: asked again, in turn with its others.
  void wait_for_room(const Subscriber& subscriber);
  void give_room();

  SharedWatches::Impl& shared_;
  const std::size_t index_;
  net::Loop& loop_;
  std::uint64_t last_id_ = 0;
  std::map<std::string, std::unique_ptr<Listeners>> kinds_;
  std::unordered_map<std::uint64_t, Subscriber*> subscribers_;
  std::unordered_map<std::string, std::weak_ptr<WatchOwner>> owners_; ///< of these
  std::set<std::pair<Clock::time_point, std::uint64_t>> deadlines_;
  Clock::time_point armed_;
  net::Timer timer_;
  std::vector<std::weak_ptr<WatchOwner>> crowded_; ///< who has a line
  net::Timer room_timer_;
  std::minstd_rand random_;
};

} // namespace zoo::upstream
