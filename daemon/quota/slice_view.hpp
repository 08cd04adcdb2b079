// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/cost.hpp"
#include "daemon/quota/shares.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace zoo::quota {

/// One slice as the API servers of an upstream see it, each by its own watch cache: what all of
/// them are sure to admit. Room that grows counts when the last of them shows it, and some
/// milliseconds later, since a watch tells a client sooner than the server's own admission plugin;
/// room that shrinks counts at once. Pure; not thread-safe.
class SliceView {
public:
  using Clock = std::chrono::steady_clock;

  /// As the server numbered `server` shows it now; an older revision than known is nothing.
  void seen(std::size_t server, std::int64_t revision, const Slice& slice, Clock::time_point now,
            Clock::duration delay);
  /// As a write of zood's own was answered.
  void written(std::int64_t revision, const Slice& slice, Clock::time_point now,
               Clock::duration delay);
  /// Only these servers are asked for what they show; the others' watches are closed.
  void set_servers(std::vector<bool> heard, Clock::time_point now, Clock::duration delay);
  /// A write is about to lower the slice to `target`. From now on no more than that counts, even
  /// while some server still shows more.
  void lowering(const ResourceList& target);
  /// The write is over, for better or worse: what is seen counts again.
  void settle(Clock::time_point now, Clock::duration delay);

  /// What is due by now counts. True: there is more room than before.
  bool tick(Clock::time_point now);
  bool pending() const { return !due_.empty(); } ///< tick() will have something to do

  const ResourceList& hard() const { return hard_; } ///< that every server admits by
  const ResourceList& used() const { return used_; } ///< the most that any of them believes
  const Slice& newest() const { return newest_; }
  bool known() const { return revision_ != 0; }

  /// Something was deleted that had been charged: its charge stays until `used` falls by as much.
  /// `live`: what is there without it.
  void died(const ResourceList& amounts, const ResourceList& live, Clock::time_point now);
  /// What was deleted, and is charged still. Beside many others a charge may come and go without
  /// being seen: so what was deleted longer ago than k_dead is no more than `used` has beyond what
  /// is there.
  ResourceList dead(const ResourceList& live, Clock::time_point now) const;

private:
  static constexpr std::chrono::milliseconds k_dead{700};
  struct Server {
    std::int64_t revision = 0;
    Slice slice;
  };
  struct Due {
    Clock::time_point at;
    ResourceList hard, used;
    std::int64_t shown; ///< by all servers
  };
  struct Fall { ///< of `used`, from one version to the next
    std::int64_t revision;
    ResourceList amounts;
  };
  struct Death {
    Clock::time_point at;
    ResourceList amounts;
  };
  ResourceList seen_hard() const;
  ResourceList seen_used() const;
  void changed(Clock::time_point now, Clock::duration delay);
  void take_newest(std::int64_t revision, const Slice& slice);
  std::int64_t shown() const;
  /// Takes away what `used` fell by: of what was deleted last, first. So one whose charge came and
  /// went unseen grows old while others come and go.
  void uncharge(ResourceList amounts);

  std::vector<Server> servers_;
  std::vector<bool> heard_;
  std::int64_t revision_ = 0;
  Slice newest_;
  ResourceList hard_, used_;
  std::deque<Due> due_;
  std::deque<Fall> falls_;   ///< that not every server has shown for long enough
  ResourceList long_dead_;   ///< deleted longer ago than k_dead
  std::deque<Death> deaths_; ///< the others; beyond k_most_deaths they are added to the last
  std::optional<ResourceList> lowering_; ///< between lowering() and settle(): the most that counts
};

} // namespace zoo::quota
