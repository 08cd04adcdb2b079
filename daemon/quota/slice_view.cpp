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
  if (revision > revision_) {
    newest_ = slice;
    revision_ = revision;
  }
  changed(now, delay);
}

void SliceView::written(std::int64_t revision, const Slice& slice, Clock::time_point now,
                        Clock::duration delay) {
  if (revision <= revision_) return;
  newest_ = slice;
  revision_ = revision;
  changed(now, delay);
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
  if (hard_ == hard && used_ == used && due_.empty()) return;
  due_.push_back({now + delay, hard, used});
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
    ResourceList fallen;
    for (auto& [name, amount] : used_) {
      const auto found = used.find(name);
      const auto now_used = found == used.end() ? kube::Quantity{} : found->second;
      if (now_used >= amount) continue;
      fallen.insert_or_assign(name, amount - now_used);
      amount = now_used;
    }
    if (fallen.empty()) continue;
    more = true;
    dead = beyond(dead, fallen);
  }
  return more;
}

} // namespace zoo::quota
