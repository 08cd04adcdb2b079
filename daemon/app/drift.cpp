// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/drift.hpp"

#include "daemon/tenants/drift.hpp"

#include <algorithm>

namespace zoo::app {
namespace {

constexpr std::chrono::seconds k_tick{1};
constexpr std::chrono::minutes k_deaf{4}; ///< as long as a tenant was never left alone

} // namespace

Drift::Drift(upstream::Upstream& upstream, net::Loop& loop, Tells tells)
    : tells_(std::move(tells)), loop_(loop), timer_(loop) {
  for (const auto& kind : tenants::room_kinds()) {
    const auto changed = [this, kind](translate::EventType type, const translate::ObjectKey& key,
                                      std::string_view) {
      if (const auto id = tenants::spoiled(kind, type, key); !id.empty()) tells_.of(id);
    };
    followers_.push_back(std::make_unique<upstream::ChangeFollower>(
        upstream, loop, upstream.caller(loop), std::string(kind.path),
        kind.name.empty() ? "" : "metadata.name=" + std::string(kind.name),
        upstream::ChangeFollower::Hears{changed, [this] { missed_ = true; }}));
  }
}

void Drift::start() {
  for (const auto& follower : followers_)
    follower->start();
  loop_.post([this] { tick(); });
}

void Drift::tick() {
  const bool all = hears();
  deaf_ = all ? std::chrono::seconds(0) : deaf_ + k_tick;
  const bool left_alone = deaf_ == k_deaf; // from then on they are looked after as often
  if ((all && std::exchange(missed_, false)) || left_alone) tells_.missed();
  timer_.start(k_tick, [this] { tick(); });
}

bool Drift::hears() const {
  return std::all_of(followers_.begin(), followers_.end(),
                     [](const auto& follower) { return follower->follows(); });
}

} // namespace zoo::app
