// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/tally.hpp"

namespace zoo::relay {
namespace {

constexpr std::array<std::string_view, k_outcomes> k_outcome_names = {
    "answered", "unreachable", "timeout", "unusable", "refused"};

std::size_t index_of(translate::Hook hook) { return static_cast<std::size_t>(hook); }

} // namespace

void Tally::count(translate::Hook hook, Outcome outcome, std::chrono::microseconds took) {
  const auto of = index_of(hook);
  counts_[of][static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
  if (outcome != Outcome::answered) return;
  seconds_[of].add(took);
}

std::uint64_t Tally::count_of(translate::Hook hook, Outcome outcome) const {
  return counts_[index_of(hook)][static_cast<std::size_t>(outcome)].load();
}

void Tally::write(MetricText& out) const {
  using Type = MetricText::Type;
  out.family("zood_relay_calls_total", Type::counter, "Calls of tenants' webhooks by the relay");
  for (const auto hook : translate::k_hooks) {
    for (std::size_t outcome = 0; outcome < k_outcomes; ++outcome)
      out.sample(static_cast<double>(counts_[index_of(hook)][outcome].load()),
                 {{"hook", translate::word_of(hook)}, {"outcome", k_outcome_names[outcome]}});
  }
  out.family("zood_relay_seconds", Type::histogram,
             "Time from a review at the relay's door to the webhook's answer");
  for (const auto hook : translate::k_hooks)
    seconds_[index_of(hook)].write(out, {{"hook", translate::word_of(hook)}});
  out.family("zood_relay_strangers_total", Type::counter,
             "Requests at the relay's door for a path that is none of its own");
  out.sample(static_cast<double>(strangers_.load()));
  out.family("zood_relay_tunnels", Type::gauge, "Tunnels to pods of webhooks that are open");
  out.sample(static_cast<double>(tunnels_.load()));
  out.family("zood_relay_tunnels_opened_total", Type::counter, "Tunnels opened since the start");
  out.sample(static_cast<double>(opened_.load()));
  out.family("zood_relay_inflight", Type::gauge, "Calls of tenants' webhooks in progress");
  out.sample(static_cast<double>(calls_.load()));
}

} // namespace zoo::relay
