// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/drift.hpp"

#include "daemon/tenants/drift.hpp"

#include <algorithm>

namespace zoo::app {

Drift::Drift(upstream::Upstream& upstream, net::Loop& loop, const Tells& tells) {
  for (const auto& kind : tenants::room_kinds()) {
    const auto changed = [kind, of = tells.of](translate::EventType type, std::string_view object) {
      const auto key = translate::object_key(object);
      if (!key) return;
      if (const auto id = tenants::spoiled(kind, type, *key, object); !id.empty()) of(id);
    };
    followers_.push_back(std::make_unique<upstream::ChangeFollower>(
        upstream, loop, upstream.caller(loop), std::string(kind.path),
        kind.name.empty() ? "" : "metadata.name=" + std::string(kind.name),
        upstream::ChangeFollower::Hears{changed, tells.missed}));
  }
}

void Drift::start() {
  for (const auto& follower : followers_)
    follower->start();
}

bool Drift::hears() const {
  return std::all_of(followers_.begin(), followers_.end(),
                     [](const auto& follower) { return follower->follows(); });
}

} // namespace zoo::app
