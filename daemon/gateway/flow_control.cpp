// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_control.hpp"

namespace zoo::gateway {

FlowControl::Entered FlowControl::enter(std::string_view tenant, const api::Flow& flow,
                                        std::string_view user, Work work, bool receiving,
                                        const Teller& teller) {
  Calls calls;
  Entered out{};
  {
    const std::scoped_lock lock(mutex_);
    const auto ticket = ++last_;
    out.verdict = scheduler_.enter(ticket, tenant, flow, user, work, receiving);
    if (out.verdict == Verdict::queued) told_.emplace(ticket, teller());
    if (out.verdict == Verdict::queued || out.verdict == Verdict::admitted)
      out.place.emplace(Place(this, ticket));
    calls = take_calls();
  }
  tell(calls);
  return out;
}

FlowControl::Verdict FlowControl::received(FlowScheduler::Ticket ticket, std::string_view user,
                                           const Teller& teller) {
  Calls calls;
  Verdict verdict{};
  {
    const std::scoped_lock lock(mutex_);
    verdict = scheduler_.received(ticket, user);
    if (verdict == Verdict::queued) told_.emplace(ticket, teller());
    calls = take_calls();
  }
  tell(calls);
  return verdict;
}

void FlowControl::leave(FlowScheduler::Ticket ticket) {
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    told_.erase(ticket);
    scheduler_.leave(ticket);
    calls = take_calls();
  }
  tell(calls);
}

bool FlowControl::buffer(FlowScheduler::Ticket ticket, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  return scheduler_.buffer(ticket, bytes);
}

bool FlowControl::unread(FlowScheduler::Ticket ticket, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  return scheduler_.unread(ticket, bytes);
}

bool FlowControl::hold(FlowScheduler::Ticket ticket, std::uint64_t bytes) {
  const std::scoped_lock lock(mutex_);
  return scheduler_.hold(ticket, bytes);
}

void FlowControl::answered(FlowScheduler::Ticket ticket, std::uint64_t kept) {
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    told_.erase(ticket); // who was answered while it waited is told nothing more
    scheduler_.answered(ticket, kept);
    calls = take_calls();
  }
  tell(calls);
}

void FlowControl::set_limits(const FlowScheduler::Limits& limits) {
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    scheduler_.set_limits(limits);
    calls = take_calls();
  }
  tell(calls);
}

FlowScheduler::Load FlowControl::load(std::string_view tenant) const {
  const std::scoped_lock lock(mutex_);
  return scheduler_.load(tenant);
}

FlowScheduler::Load FlowControl::total() const {
  const std::scoped_lock lock(mutex_);
  return scheduler_.total();
}

FlowControl::Calls FlowControl::take_calls() {
  Calls out;
  for (const auto& change : scheduler_.take_changes()) {
    const auto found = told_.find(change.ticket);
    if (found == told_.end()) continue;
    out.emplace_back(std::move(found->second), change.admitted);
    told_.erase(found);
  }
  return out;
}

void FlowControl::tell(const Calls& calls) {
  for (const auto& [told, admitted] : calls)
    told(admitted);
}

} // namespace zoo::gateway
