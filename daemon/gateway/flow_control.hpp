// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flow_scheduler.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace zoo::gateway {

/// Places for the requests of all loops (DESIGN 4 `room`, docs/decisions/122). Thread-safe. While
/// nobody waits for a place, one is taken and given back without a lock; then under one that is
/// held for less than a microsecond. Nothing is called back under it.
class FlowControl {
public:
  using Verdict = FlowVerdict;
  using Load = FlowLoad;
  using Limits = FlowScheduler::Limits;
  using Teller = std::function<std::function<void(bool admitted)>()>;

  /// A request's place, or its place in the queue; given back on destruction. One thread at a time.
  class Place {
  public:
    Place(Place&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), share_(other.share_), work_(other.work_),
          state_(other.state_), bytes_(other.bytes_), unread_(other.unread_),
          waiter_(std::move(other.waiter_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() { answered(0); }

    /// The request is whole: admitted or queued, or Verdict::full_queue, and then it has left.
    /// `teller` as in enter().
    Verdict received(std::string_view user, const Teller& teller);
    /// More bytes are held for it; false: beyond its tenant's budget.
    bool buffer(std::uint64_t bytes);
    /// So many of what buffer() has counted are held no more. Nothing, once it was answered.
    void give_back(std::uint64_t bytes);
    /// So much of its answer waits for its client, instead of what did so before: counted, be it
    /// beyond the budget. Long-running ones together may have half of that. False: it is more than
    /// before, and beyond.
    bool unread(std::uint64_t bytes);
    /// The same before it waits; where that is beyond the budget, nothing is counted.
    bool hold(std::uint64_t bytes);
    /// Its answer was given: the place goes to others, and so many bytes are counted from now on,
    /// be it beyond the budget, until this is destroyed. Who has none to count, or waits still,
    /// leaves now.
    void answered(std::uint64_t kept);

  private:
    friend class FlowControl;
    enum class State : std::uint8_t { receiving, running, answered };
    Place(FlowControl& owner, FlowShare& share, Work work, State state)
        : owner_(&owner), share_(&share), work_(work), state_(state) {}
    bool lasts() const { return work_ == Work::long_running; }
    void keep(std::uint64_t bytes, std::uint64_t unread); ///< instead of those before
    void left();

    FlowControl* owner_; ///< null: it has left
    FlowShare* share_;
    Work work_;
    State state_; ///< as if it did not wait
    std::uint64_t bytes_ = 0;
    std::uint64_t unread_ = 0;                      ///< of these
    std::unique_ptr<FlowScheduler::Waiter> waiter_; ///< of one that found no place at once
  };

  struct Entered {
    Verdict verdict;
    std::optional<Place> place; ///< if admitted or queued
  };

  explicit FlowControl(const Limits& limits = {}) { set_limits(limits); }
  void set_limits(const Limits& limits);

  /// What the tenant has in progress; the same for all who hold it, and kept while anybody does.
  std::shared_ptr<FlowShare> share(std::string_view tenant);
  /// One more request; `share` outlives its place. One that is still being `received` counts for
  /// its tenant, and takes no place of all tenants' until it was: how long that takes is its
  /// client's choice. What `teller` makes is called once, on any thread, if it is queued: whether
  /// it may go on now, or lost its place. Not after the place is gone, but perhaps while it goes.
  /// `teller` is asked under the lock, and only of those that are queued.
  Entered enter(FlowShare& share, const api::Flow& flow, std::string_view user, Work work,
                bool receiving, const Teller& teller);

  using OthersByTenant = std::unordered_map<std::string, access::FlowOthers>;
  /// FlowShare::set_others() of every tenant; one that is not named has nothing elsewhere.
  void set_others(OthersByTenant others, std::uint32_t zoods);
  /// FlowShare::worth_telling() of at most so many tenants.
  OthersByTenant worth_telling(std::uint32_t zoods, std::size_t most) const;

  Load load(std::string_view tenant) const;
  Load total() const; ///< of all tenants

private:
  /// One of all tenants' places for it, or a place in the queue, or none: then it has left.
  Verdict start(Place& place, std::string_view user, const Teller& teller);
  void give_back(FlowShare& share);
  bool stop_waiting(FlowScheduler::Waiter& waiter); ///< false: it had no place
  using Calls = std::vector<std::pair<std::function<void(bool)>, bool>>;
  Calls take_calls(); ///< under the lock
  static void tell(const Calls& calls);
  void forget_idle();

  static constexpr std::size_t k_most_tenants = 65'536; ///< docs/limits.md
  FlowPlaces places_;
  std::mutex mutex_; ///< of the scheduler
  FlowScheduler scheduler_{places_};

  mutable std::mutex shares_mutex_; ///< of what follows; never together with the other one
  std::unordered_map<std::string, std::shared_ptr<FlowShare>> shares_;
  OthersByTenant others_;       ///< for shares that are still to be made
  std::uint32_t zoods_ = 1;     ///< likewise
  std::uint64_t forgotten_ = 0; ///< refusals of shares that are gone
};

} // namespace zoo::gateway
