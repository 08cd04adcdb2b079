// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_control.hpp"

namespace zoo::gateway {

FlowControl::Entered FlowControl::enter(FlowShare& share, const api::Flow& flow,
                                        std::string_view user, Work work, bool receiving,
                                        const Teller& teller) {
  share.set_terms(flow);
  const bool starts = work != Work::long_running && !receiving;
  auto verdict = share.enter(flow, work, starts);
  if (verdict != Verdict::admitted) return {verdict, std::nullopt};
  const auto state = receiving ? Place::State::receiving : Place::State::running;
  std::optional<Place> place(Place(*this, share, work, state));
  if (starts) verdict = start(*place, user, teller);
  if (verdict == Verdict::full_queue) place.reset();
  return {verdict, std::move(place)};
}

/// Its tenant counts it as in flight already: so the scheduler never takes its next one for the
/// first.
FlowControl::Verdict FlowControl::start(Place& place, std::string_view user, const Teller& teller) {
  auto& share = *place.share_;
  if (places_.take()) {
    share.count_admission();
    return Verdict::admitted;
  }
  share.stop();
  auto waiter = std::make_unique<FlowScheduler::Waiter>(
      FlowScheduler::Waiter{share, place.work_, std::string(user)});
  Verdict verdict{};
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    verdict = scheduler_.enter(*waiter);
    if (verdict == Verdict::queued) waiter->told = teller();
    calls = take_calls();
  }
  tell(calls);
  if (verdict == Verdict::queued) place.waiter_ = std::move(waiter);
  if (verdict == Verdict::full_queue) place.left();
  return verdict;
}

FlowControl::Verdict FlowControl::Place::received(std::string_view user, const Teller& teller) {
  if (owner_ == nullptr) return Verdict::full_queue;
  if (state_ != State::receiving) return Verdict::admitted;
  state_ = State::running;
  share_->start();
  return owner_->start(*this, user, teller);
}

bool FlowControl::Place::buffer(std::uint64_t bytes) {
  if (owner_ == nullptr) return false;
  if (!share_->add_bytes(bytes)) {
    share_->refuse();
    return false;
  }
  bytes_ += bytes;
  return true;
}

void FlowControl::Place::give_back(std::uint64_t bytes) {
  if (owner_ == nullptr || state_ == State::answered) return;
  keep(bytes_ - std::min(bytes, bytes_ - unread_), unread_);
}

bool FlowControl::Place::unread(std::uint64_t bytes) {
  if (owner_ == nullptr) return true;
  const bool more = bytes > unread_;
  keep(bytes_ - unread_ + bytes, bytes);
  if (!more || share_->within(unread_, lasts())) return true;
  share_->refuse();
  return false;
}

bool FlowControl::Place::hold(std::uint64_t bytes) {
  if (owner_ == nullptr || bytes <= unread_) return true;
  if (!share_->add_unread(unread_, bytes, lasts())) return false;
  bytes_ = bytes_ - unread_ + bytes;
  unread_ = bytes;
  return true;
}

void FlowControl::Place::keep(std::uint64_t bytes, std::uint64_t unread) {
  if (lasts() && unread != unread_) share_->change_unread(unread_, unread);
  if (bytes != bytes_) share_->change_bytes(bytes_, bytes);
  bytes_ = bytes;
  unread_ = unread;
}

void FlowControl::Place::answered(std::uint64_t kept) {
  if (owner_ == nullptr) return;
  if (waiter_ && !owner_->stop_waiting(*waiter_)) return left();
  waiter_.reset();
  // One that lasted still keeps others of its kind from as much.
  if (lasts() && kept > 0) return keep(kept, kept);
  keep(kept, 0);
  const auto state = std::exchange(state_, State::answered);
  auto* owner = kept == 0 ? std::exchange(owner_, nullptr) : owner_;
  // The tenant first: once the place is free, the scheduler sees none in flight for it.
  if (state != State::answered) share_->leave(work_, state == State::running);
  if (state == State::running && !lasts()) owner->give_back(*share_);
}

/// Others have counted it out, but for its bytes.
void FlowControl::Place::left() {
  waiter_.reset();
  keep(0, 0);
  owner_ = nullptr;
}

bool FlowControl::stop_waiting(FlowScheduler::Waiter& waiter) {
  Calls calls;
  bool admitted = false;
  {
    const std::scoped_lock lock(mutex_);
    admitted = waiter.state == FlowScheduler::Waiter::State::admitted;
    scheduler_.leave(waiter);
    calls = take_calls();
  }
  tell(calls);
  return admitted;
}

void FlowControl::give_back(FlowShare& share) {
  if (!places_.give_back()) return;
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    scheduler_.freed(share);
    calls = take_calls();
  }
  tell(calls);
}

void FlowControl::set_limits(const Limits& limits) {
  Calls calls;
  {
    const std::scoped_lock lock(mutex_);
    scheduler_.set_limits(limits);
    calls = take_calls();
  }
  tell(calls);
}

FlowControl::Calls FlowControl::take_calls() {
  Calls out;
  for (auto* waiter : scheduler_.take_changes()) {
    if (!waiter->told) continue; // admitted before it was told to wait
    const bool admitted = waiter->state == FlowScheduler::Waiter::State::admitted;
    out.emplace_back(std::exchange(waiter->told, nullptr), admitted);
  }
  return out;
}

void FlowControl::tell(const Calls& calls) {
  for (const auto& [told, admitted] : calls)
    told(admitted);
}

std::shared_ptr<FlowShare> FlowControl::share(std::string_view tenant) {
  const std::scoped_lock lock(shares_mutex_);
  std::string id(tenant);
  if (const auto found = shares_.find(id); found != shares_.end()) return found->second;
  if (shares_.size() >= k_most_tenants) forget_idle();
  auto made = std::make_shared<FlowShare>(id);
  const auto elsewhere = others_.find(id);
  made->set_others(elsewhere == others_.end() ? access::FlowOthers{} : elsewhere->second, zoods_);
  shares_.emplace(std::move(id), made);
  return made;
}

/// Those that nobody holds have nothing in progress, and only share() could hand them out.
void FlowControl::forget_idle() {
  std::erase_if(shares_, [this](const auto& entry) {
    const bool idle = entry.second.use_count() == 1;
    if (idle) forgotten_ += entry.second->load().refused;
    return idle;
  });
}

void FlowControl::set_others(OthersByTenant others, std::uint32_t zoods) {
  const std::scoped_lock lock(shares_mutex_);
  others_ = std::move(others);
  zoods_ = zoods;
  for (const auto& [id, share] : shares_) {
    const auto found = others_.find(id);
    share->set_others(found == others_.end() ? access::FlowOthers{} : found->second, zoods);
  }
}

FlowControl::OthersByTenant FlowControl::worth_telling(std::uint32_t zoods,
                                                       std::size_t most) const {
  const std::scoped_lock lock(shares_mutex_);
  OthersByTenant out;
  for (const auto& [id, share] : shares_) {
    if (out.size() == most) break;
    if (const auto told = share->worth_telling(zoods)) out.emplace(id, *told);
  }
  return out;
}

FlowControl::Load FlowControl::load(std::string_view tenant) const {
  const std::scoped_lock lock(shares_mutex_);
  const auto found = shares_.find(std::string(tenant));
  return found == shares_.end() ? Load{} : found->second->load();
}

FlowControl::Load FlowControl::total() const {
  const std::scoped_lock lock(shares_mutex_);
  Load sum;
  sum.refused = forgotten_;
  for (const auto& [id, share] : shares_) {
    const auto load = share->load();
    sum.mutations += load.mutations;
    sum.long_running += load.long_running;
    sum.queued += load.queued;
    sum.receiving += load.receiving;
    sum.buffered += load.buffered;
    sum.unread += load.unread;
    sum.refused += load.refused;
  }
  sum.in_flight = places_.taken();
  return sum;
}

} // namespace zoo::gateway
