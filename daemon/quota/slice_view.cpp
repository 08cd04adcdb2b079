// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/slice_view.hpp"

#include <algorithm>
#include <utility>

namespace zoo::quota {
namespace {

/// The smaller of both, name by name; what one of them has not is nothing in it.
ResourceList smaller(const ResourceList& a, const ResourceList& b) {
  ResourceList out;
  for (const auto& [name, amount] : a)
    if (const auto found = b.find(name); found != b.end())
      out.emplace_hint(out.end(), name, std::min(amount, found->second));
  return out;
}

} // namespace

void SliceView::seen(std::size_t server, std::int64_t revision, const Slice& slice,
                     Clock::time_point now, Clock::duration delay) {
  if (servers_.size() <= server) servers_.resize(server + 1);
  auto& one = servers_[server];
  if (one.revision >= revision) return;
  one = {revision, slice};
  if (revision > revision_) take_newest(revision, slice);
  changed(now, delay);
}

void SliceView::written(std::int64_t revision, const Slice& slice, Clock::time_point now,
                        Clock::duration delay) {
  if (revision <= revision_) return;
  take_newest(revision, slice);
  changed(now, delay);
}

/// A fall is told from one version to the next: a create beside it may have put `used` where it was
/// before any server shows the fall to all.
void SliceView::take_newest(std::int64_t revision, const Slice& slice) {
  if (auto fallen = beyond(newest_.used, slice.used); !fallen.empty()) {
    constexpr std::size_t k_most_falls = 64;
    if (falls_.size() < k_most_falls) {
      falls_.push_back({revision, std::move(fallen)});
    } else {
      add(falls_.back().amounts, fallen);
      falls_.back().revision = revision;
    }
  }
  newest_ = slice;
  revision_ = revision;
}

std::int64_t SliceView::shown() const {
  auto out = revision_;
  for (std::size_t i = 0; i < heard_.size(); ++i)
    if (heard_[i]) out = std::min(out, i < servers_.size() ? servers_[i].revision : 0);
  return out;
}

void SliceView::died(const ResourceList& amounts, const ResourceList& live, Clock::time_point now) {
  constexpr std::size_t k_most_deaths = 64;
  for (; !deaths_.empty() && deaths_.front().at + k_dead <= now; deaths_.pop_front())
    add(long_dead_, deaths_.front().amounts);
  long_dead_ = smaller(long_dead_, beyond(used_, live));
  if (deaths_.size() < k_most_deaths) {
    deaths_.push_back({now, amounts});
  } else {
    add(deaths_.back().amounts, amounts);
    deaths_.back().at = now;
  }
}

ResourceList SliceView::dead(const ResourceList& live, Clock::time_point now) const {
  ResourceList old = long_dead_, young;
  for (const auto& death : deaths_)
    add(death.at + k_dead <= now ? old : young, death.amounts);
  auto out = smaller(old, beyond(used_, live));
  add(out, young);
  return out;
}

void SliceView::uncharge(ResourceList amounts) {
  for (auto death = deaths_.rbegin(); death != deaths_.rend(); ++death) {
    auto rest = beyond(amounts, death->amounts);
    death->amounts = beyond(death->amounts, amounts);
    amounts = std::move(rest);
  }
  std::erase_if(deaths_, [](const Death& death) { return death.amounts.empty(); });
  long_dead_ = beyond(long_dead_, amounts);
}

void SliceView::set_servers(std::vector<bool> heard, Clock::time_point now, Clock::duration delay) {
  heard_ = std::move(heard);
  changed(now, delay);
}

void SliceView::lowering(const ResourceList& target) {
  hard_ = smaller(hard_, target);
  lowering_ = target;
}

void SliceView::settle(Clock::time_point now, Clock::duration delay) {
  lowering_.reset();
  changed(now, delay);
}

/// The least that any server shows, and what was written last. A server that is heard and has not
/// shown the slice yet admits by none: it looks the quota up, and what it finds is not known here.
ResourceList SliceView::seen_hard() const {
  auto out = newest_.hard;
  for (std::size_t i = 0; i < heard_.size(); ++i)
    if (heard_[i])
      out = smaller(out, i < servers_.size() ? servers_[i].slice.hard : ResourceList{});
  return out;
}

ResourceList SliceView::seen_used() const {
  auto out = newest_.used;
  for (std::size_t i = 0; i < heard_.size() && i < servers_.size(); ++i)
    if (heard_[i]) out = larger(std::move(out), servers_[i].slice.used);
  return out;
}

void SliceView::changed(Clock::time_point now, Clock::duration delay) {
  const auto hard = seen_hard(), used = seen_used();
  hard_ = smaller(hard_, hard);
  used_ = larger(std::move(used_), used);
  if (hard_ == hard && used_ == used && due_.empty() && falls_.empty()) return;
  due_.push_back({now + delay, hard, used, shown()});
}

bool SliceView::tick(Clock::time_point now) {
  bool more = false;
  while (!due_.empty() && due_.front().at <= now) {
    const auto due = std::move(due_.front());
    due_.pop_front();
    auto hard = larger(hard_, smaller(due.hard, seen_hard()));
    if (lowering_) hard = smaller(hard, *lowering_);
    const auto used = larger(due.used, seen_used());
    if (hard != hard_) more = true;
    hard_ = hard;
    for (auto& [name, amount] : used_) {
      const auto found = used.find(name);
      const auto now_used = found == used.end() ? kube::Quantity{} : found->second;
      if (now_used >= amount) continue;
      amount = now_used;
      more = true;
    }
    while (!falls_.empty() && falls_.front().revision <= due.shown) {
      uncharge(std::move(falls_.front().amounts));
      falls_.pop_front();
      more = true;
    }
  }
  return more;
}

} // namespace zoo::quota
