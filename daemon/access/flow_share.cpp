// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/flow_share.hpp"

#include <algorithm>

namespace zoo::access {

void FlowShare::set_terms(const api::Flow& flow) {
  // They hardly ever change: reading leaves the cache line with all loops.
  if (budget_.load(std::memory_order_relaxed) != flow.buffered) budget_ = flow.buffered;
  const auto weight = std::max(1U, flow.weight);
  if (weight_.load(std::memory_order_relaxed) != weight) weight_ = weight;
  const auto set = [](std::atomic<std::uint32_t>& to, std::uint32_t value) {
    if (to.load(std::memory_order_relaxed) != value) to = value;
  };
  set(limit_requests_, flow.requests);
  set(limit_mutations_, flow.mutations);
  set(limit_long_running_, flow.long_running);
}

void FlowShare::set_others(const FlowOthers& others, std::uint32_t zoods) {
  others_requests_ = others.requests;
  others_mutations_ = others.mutations;
  others_long_running_ = others.long_running;
  zoods_ = std::max(1U, zoods);
}

std::optional<FlowOthers> FlowShare::worth_telling(std::uint32_t zoods) const {
  const auto counts = counts_.load();
  const FlowOthers out{field(counts, k_held), field(counts, k_mutation), long_running_.load()};
  const auto much = [zoods](std::uint32_t count, const std::atomic<std::uint32_t>& limit) {
    return std::uint64_t{count} * 8 * zoods > limit.load();
  };
  if (much(out.requests, limit_requests_) || much(out.mutations, limit_mutations_) ||
      much(out.long_running, limit_long_running_))
    return out;
  return std::nullopt;
}

std::uint32_t FlowShare::part_of(std::uint32_t limit,
                                 const std::atomic<std::uint32_t>& others) const {
  const auto zoods = zoods_.load(std::memory_order_relaxed);
  if (zoods == 1) return limit;
  const auto elsewhere = others.load(std::memory_order_relaxed);
  const auto even = limit / zoods + (limit % zoods != 0 ? 1 : 0);
  return std::max(even, limit - std::min(limit, elsewhere));
}

FlowVerdict FlowShare::refuse(FlowVerdict verdict) {
  refuse();
  return verdict;
}

FlowVerdict FlowShare::enter(const api::Flow& flow, Work work, bool starts) {
  if (buffered_.load() > flow.buffered) return refuse(FlowVerdict::full_bytes);
  if (work == Work::long_running) {
    if (unread_.load() > flow.buffered / 2) return refuse(FlowVerdict::full_bytes);
    const auto most = part_of(flow.long_running, others_long_running_);
    auto count = long_running_.load();
    do {
      if (count >= most) return refuse(FlowVerdict::full_long_running);
    } while (!long_running_.compare_exchange_weak(count, count + 1));
    return FlowVerdict::admitted;
  }
  const auto requests = std::min(part_of(flow.requests, others_requests_), k_most);
  const auto mutations = part_of(flow.mutations, others_mutations_);
  auto counts = counts_.load();
  do {
    if (field(counts, k_held) >= requests) return refuse(FlowVerdict::full);
    if (work == Work::mutation && field(counts, k_mutation) >= mutations)
      return refuse(FlowVerdict::full_mutations);
  } while (!counts_.compare_exchange_weak(counts, counts + one_of(work, starts)));
  return FlowVerdict::admitted;
}

void FlowShare::leave(Work work, bool started) {
  if (work == Work::long_running) {
    --long_running_;
  } else {
    counts_.fetch_sub(one_of(work, started));
  }
}

bool FlowShare::add_bytes(std::uint64_t more) {
  const auto budget = budget_.load();
  auto sum = buffered_.load();
  do {
    if (sum + more > budget) return false;
  } while (!buffered_.compare_exchange_weak(sum, sum + more));
  return true;
}

bool FlowShare::add_unread(std::uint64_t before, std::uint64_t now, bool lasts) {
  const auto more = now - before;
  if (!lasts) return add_bytes(more);
  auto sum = unread_.load();
  bool alone = false;
  do {
    alone = sum == before;
    if (!alone && sum + more > budget_.load() / 2) return false;
  } while (!unread_.compare_exchange_weak(sum, sum + more));
  if (alone) {
    buffered_ += more;
    return true;
  }
  if (add_bytes(more)) return true;
  unread_ -= more;
  return false;
}

bool FlowShare::within(std::uint64_t unread, bool lasts) const {
  const auto budget = budget_.load();
  const auto lasting = lasts ? unread_.load() : 0;
  if (lasts && lasting == unread) return true;
  return buffered_.load() <= budget && lasting <= budget / 2;
}

FlowLoad FlowShare::load() const {
  const auto counts = counts_.load();
  FlowLoad out;
  out.in_flight = field(counts, k_in_flight);
  out.mutations = field(counts, k_mutation);
  out.long_running = long_running_.load();
  // Not of one moment with `counts`, and yet never below none.
  const auto others = field(counts, k_held) - out.in_flight;
  out.queued = std::min(queued_.load(), others);
  out.receiving = others - out.queued;
  out.buffered = buffered_.load();
  out.unread = unread_.load();
  out.refused = refused_.load();
  return out;
}

} // namespace zoo::access
