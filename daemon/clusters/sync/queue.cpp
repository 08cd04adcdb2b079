// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/queue.hpp"

#include <algorithm>

namespace zoo::clusters::sync {
namespace {

constexpr std::int64_t k_turn = 100; ///< what one piece of work costs of a cluster's credit

} // namespace

void FairQueue::set_weight(const std::string& cluster, unsigned weight) {
  const std::scoped_lock lock(mutex_);
  flows_[cluster].weight = std::max(weight, 1U);
}

void FairQueue::enqueue(const std::string& cluster, Flow& flow, const std::string& key,
                        Item& item) {
  item.queued = true;
  flow.lanes[static_cast<std::size_t>(item.lane)].push_back(key);
  if (!flow.in_ring) {
    flow.in_ring = true;
    ring_.push_back(cluster);
  }
  ++changes_;
  changed_.notify_one();
}

void FairQueue::put_later(const std::string& cluster, const std::string& key, Item& item,
                          Clock::time_point due) {
  item.due = due;
  later_.emplace(due, cluster, key);
  ++changes_;
  changed_.notify_one();
}

void FairQueue::drop_later(const std::string& cluster, const std::string& key, Item& item) {
  if (item.due) later_.erase({*item.due, cluster, key});
  item.due.reset();
}

void FairQueue::add(const std::string& cluster, const std::string& key, Lane lane,
                    Clock::duration delay) {
  const std::scoped_lock lock(mutex_);
  auto& flow = flows_[cluster];
  const auto [found, fresh] = flow.items.try_emplace(key);
  auto& item = found->second;
  if (fresh || lane == Lane::first) item.lane = lane;
  if (delay == Clock::duration::zero()) item.attempts = 0;
  if (item.running) {
    item.woken = true;
    return;
  }
  if (item.queued) return;
  const auto due = now_() + delay;
  if (item.due && *item.due <= due) return;
  drop_later(cluster, key, item);
  if (delay == Clock::duration::zero())
    enqueue(cluster, flow, key, item);
  else
    put_later(cluster, key, item, due);
}

void FairQueue::wake_due() {
  const auto now = now_();
  while (!later_.empty() && std::get<0>(*later_.begin()) <= now) {
    const auto [due, cluster, key] = *later_.begin();
    later_.erase(later_.begin());
    auto& flow = flows_[cluster];
    auto& item = flow.items[key];
    item.due.reset();
    enqueue(cluster, flow, key, item);
  }
}

FairQueue::Taken FairQueue::taken(Clock::time_point now) const {
  Taken out;
  for (const auto* flow : busy_) {
    out.all += flow->running;
    if (flow->slow(now)) out.by_slow += flow->running;
  }
  return out;
}

bool FairQueue::may_have(const Flow& flow, const Taken& had, Clock::time_point now) const {
  const auto half = std::max<std::size_t>(workers_ / 2, 1);
  const bool alone = ring_.size() == 1;
  if (flow.running != 0 && had.all + 1 == workers_) return false; // somebody else may come
  if (!flow.slow(now)) return alone || flow.running < half;
  return had.by_slow < half && (alone || flow.running == 0);
}

std::optional<FairQueue::Work> FairQueue::next() {
  wake_due();
  const auto now = now_();
  const auto had = taken(now);
  // Each round gives every cluster that waits its weight, so that this ends.
  for (std::size_t passed = 0; passed < ring_.size();) {
    const auto cluster = ring_.front();
    auto& flow = flows_[cluster];
    const auto rotate = [&] { ring_.splice(ring_.end(), ring_, ring_.begin()); };
    if (!may_have(flow, had, now)) {
      rotate();
      ++passed;
      continue;
    }
    if (flow.credit < k_turn) {
      flow.credit += flow.weight;
      if (flow.credit < k_turn) {
        rotate();
        passed = 0;
        continue;
      }
    }
    flow.credit -= k_turn;
    auto& lane = flow.lanes[flow.lanes[0].empty() ? 1 : 0];
    auto key = std::move(lane.front());
    lane.pop_front();
    auto& item = flow.items[key];
    item.queued = false;
    item.running = true;
    item.woken = false;
    item.began = now;
    flow.began.insert(now);
    ++flow.running;
    busy_.insert(&flow);
    if (!flow.waits()) {
      flow.in_ring = false;
      flow.credit = 0; // nothing is saved up while nothing is wanted
      ring_.pop_front();
    } else if (flow.credit < k_turn) {
      rotate();
    }
    return Work{cluster, std::move(key), item.attempts};
  }
  return std::nullopt;
}

std::optional<FairQueue::Work> FairQueue::take_due() {
  const std::scoped_lock lock(mutex_);
  return next();
}

std::optional<FairQueue::Work> FairQueue::take(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (auto work = next()) return work;
    // What is held back by a cluster's limit is told of by done().
    const auto other = [this, seen = changes_] { return changes_ != seen; };
    if (later_.empty())
      changed_.wait(lock, stop, other);
    else
      changed_.wait_until(lock, stop, std::get<0>(*later_.begin()), other);
  }
  return std::nullopt;
}

void FairQueue::done(const Work& work, std::optional<Clock::duration> again, bool failed) {
  const std::scoped_lock lock(mutex_);
  const auto flow = flows_.find(work.cluster);
  if (flow == flows_.end()) return;
  if (--flow->second.running == 0) busy_.erase(&flow->second);
  const auto found = flow->second.items.find(work.key);
  if (found != flow->second.items.end()) {
    auto& item = found->second;
    const auto now = now_();
    if (item.running && now - item.began > k_slow) flow->second.slow_until = now + k_slow_for;
    if (const auto one = flow->second.began.find(item.began); one != flow->second.began.end())
      flow->second.began.erase(one);
    item.running = false;
    if (item.woken) {
      item.attempts = 0;
      enqueue(work.cluster, flow->second, work.key, item);
    } else if (again) {
      item.attempts = failed ? item.attempts + 1 : 0;
      put_later(work.cluster, work.key, item, now_() + *again);
    } else {
      flow->second.items.erase(found);
    }
  }
  tidy(work.cluster);
  ++changes_;
  changed_.notify_all();
}

/// A cluster of which nothing is left to be done is forgotten, unless it has a weight of its own.
void FairQueue::tidy(const std::string& cluster) {
  const auto found = flows_.find(cluster);
  if (found == flows_.end()) return;
  const auto& flow = found->second;
  if (flow.items.empty() && flow.running == 0 && flow.weight == 100 && !flow.slow(now_()))
    flows_.erase(found);
}

void FairQueue::forget(const std::string& cluster) {
  std::unique_lock lock(mutex_);
  const auto drop = [&] {
    const auto found = flows_.find(cluster);
    if (found == flows_.end()) return true;
    auto& flow = found->second;
    for (auto& [key, item] : flow.items)
      drop_later(cluster, key, item);
    flow.lanes[0].clear();
    flow.lanes[1].clear();
    if (flow.in_ring) ring_.remove(cluster);
    flow.in_ring = false;
    flow.items.clear();
    flow.began.clear();
    if (flow.running != 0) return false;
    flows_.erase(found);
    return true;
  };
  while (!drop())
    changed_.wait(lock);
}

std::size_t FairQueue::size(const std::string& cluster) const {
  const std::scoped_lock lock(mutex_);
  const auto found = flows_.find(cluster);
  if (found == flows_.end()) return 0;
  const auto& items = found->second.items;
  return static_cast<std::size_t>(std::count_if(items.begin(), items.end(), [](const auto& each) {
    return each.second.queued || each.second.running;
  }));
}

bool FairQueue::slow(const std::string& cluster) const {
  const std::scoped_lock lock(mutex_);
  const auto found = flows_.find(cluster);
  return found != flows_.end() && found->second.slow(now_());
}

std::size_t FairQueue::clusters() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::size_t>(std::count_if(flows_.begin(), flows_.end(), [](const auto& each) {
    return each.second.waits() || each.second.running != 0;
  }));
}

} // namespace zoo::clusters::sync
