// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/flow_share.hpp"

#include <algorithm>

namespace zoo::access {

void FlowShare::set_terms(const api::Flow& flow) {
  // They hardly ever change: reading leaves the cache line with all loops.
  if (budget_.load(std::memory_order_relaxed) != flow.buffered) budget_ = flow.buffered;
  const auto weight = std::max(1U, flow.weight);
  if (weight_.load(std::memory_order_relaxed) != weight) weight_ = weight;
}

FlowVerdict FlowShare::refuse(FlowVerdict verdict) {
  refuse();
  return verdict;
}

FlowVerdict FlowShare::enter(const api::Flow& flow, Work work, bool starts) {
  if (buffered_.load() > flow.buffered) return refuse(FlowVerdict::full_bytes);
  if (work == Work::long_running) {
    if (unread_.load() > flow.buffered / 2) return refuse(FlowVerdict::full_bytes);
    auto count = long_running_.load();
    do {
      if (count >= flow.long_running) return refuse(FlowVerdict::full_long_running);
    } while (!long_running_.compare_exchange_weak(count, count + 1));
    return FlowVerdict::admitted;
  }
  auto counts = counts_.load();
  do {
    if (field(counts, k_held) >= std::min(flow.requests, k_most)) return refuse(FlowVerdict::full);
    if (work == Work::mutation && field(counts, k_mutation) >= flow.mutations)
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
