// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flow_scheduler.hpp"

#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace zoo::gateway {

/// The one FlowScheduler of all loops (DESIGN 4 `room`). Thread-safe: one lock, held for less than
/// a microsecond; nothing is called back under it.
class FlowControl {
public:
  using Verdict = FlowScheduler::Verdict;
  using Teller = std::function<std::function<void(bool admitted)>()>;

  /// A request's place, or its place in the queue; given back on destruction.
  class Place {
  public:
    Place(Place&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), ticket_(other.ticket_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (owner_ != nullptr) owner_->leave(ticket_);
    }
    /// The request is whole (FlowScheduler::received). `teller` as in enter().
    Verdict received(std::string_view user, const Teller& teller) {
      return owner_->received(ticket_, user, teller);
    }
    /// More bytes are held for it; false: beyond its tenant's budget.
    bool buffer(std::uint64_t bytes) { return owner_ != nullptr && owner_->buffer(ticket_, bytes); }
    /// See FlowScheduler.
    bool unread(std::uint64_t bytes) { return owner_ == nullptr || owner_->unread(ticket_, bytes); }
    bool hold(std::uint64_t bytes) { return owner_ == nullptr || owner_->hold(ticket_, bytes); }
    /// The answer was given; so many bytes of it may be held until this is destroyed.
    void answered(std::uint64_t kept) {
      auto* owner = kept == 0 ? std::exchange(owner_, nullptr) : owner_; // with none it leaves
      if (owner != nullptr) owner->answered(ticket_, kept);
    }

  private:
    friend class FlowControl;
    Place(FlowControl* owner, FlowScheduler::Ticket ticket) : owner_(owner), ticket_(ticket) {}
    FlowControl* owner_;
    FlowScheduler::Ticket ticket_;
  };

  struct Entered {
    Verdict verdict;
    std::optional<Place> place; ///< if admitted or queued
  };
  /// What `teller` makes is called once, on any thread, if it is queued: whether it may go on now,
  /// or lost its place. Not after the place is gone, but perhaps while it goes. `teller` is asked
  /// under the lock, and only of those that are queued.
  Entered enter(std::string_view tenant, const api::Flow& flow, std::string_view user, Work work,
                bool receiving, const Teller& teller);

  void set_limits(const FlowScheduler::Limits& limits);
  FlowScheduler::Load load(std::string_view tenant) const;
  FlowScheduler::Load total() const; ///< of all tenants

private:
  Verdict received(FlowScheduler::Ticket ticket, std::string_view user, const Teller& teller);
  void leave(FlowScheduler::Ticket ticket);
  bool buffer(FlowScheduler::Ticket ticket, std::uint64_t bytes);
  bool unread(FlowScheduler::Ticket ticket, std::uint64_t bytes);
  bool hold(FlowScheduler::Ticket ticket, std::uint64_t bytes);
  void answered(FlowScheduler::Ticket ticket, std::uint64_t kept);
  using Calls = std::vector<std::pair<std::function<void(bool)>, bool>>;
  Calls take_calls(); ///< under the lock
  static void tell(const Calls& calls);

  mutable std::mutex mutex_;
  FlowScheduler scheduler_{FlowScheduler::Limits{}};
  FlowScheduler::Ticket last_ = 0;
  std::unordered_map<FlowScheduler::Ticket, std::function<void(bool)>> told_;
};

} // namespace zoo::gateway
