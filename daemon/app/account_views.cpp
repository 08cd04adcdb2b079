// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_views.hpp"

#include "common/kube/age.hpp"
#include "daemon/accounts/kinds.hpp"
#include "daemon/accounts/known_rights.hpp"
#include "daemon/accounts/write_backings.hpp"

#include <utility>

namespace zoo::app {

namespace {

accounts::WriteParts with_views(accounts::WriteParts parts, accounts::Views& views) {
  parts.state = [&views] { return views.state(); };
  parts.wait = [&views](const auto& holds, auto most) { return views.wait(holds, most); };
  parts.now = kube::unix_now;
  return parts;
}

} // namespace

AccountViews::AccountViews(upstream::Upstream& upstream, net::Loop& loop,
                           std::size_t most_rbac_bytes, accounts::WriteParts parts)
    : rights_(accounts::rights_of(views_)), writes_(with_views(std::move(parts), views_)),
      follower_(upstream, loop, most_rbac_bytes,
                [this](const accounts::StatePtr& before, const accounts::StatePtr& now,
                       const accounts::Touched& touched) {
                  views_.published(before, now, touched);
                  writes_.controller().touched(before, now, touched);
                  touch_quotas(*before, *now, touched);
                }),
      quotas_(upstream, loop, writes_.quota_table(),
              [this](std::string_view account) { writes_.quotas().touched(account); }) {}

/// Spaces that have come, gone, or changed their owner are to be shared out to again.
void AccountViews::touch_quotas(const accounts::State& before, const accounts::State& now,
                                const accounts::Touched& touched) {
  if (touched.everything) {
    for (const auto& account : writes_.quota_table().accounts())
      writes_.quotas().touched(account);
    return;
  }
  for (const auto& name : touched.spaces) {
    const auto was = before.spaces.find(name), is = now.spaces.find(name);
    if (was && is && was->account == is->account && was->phase == is->phase) continue;
    for (const auto& space : {was, is})
      if (space) writes_.quotas().touched(space->account);
  }
  for (const auto& name : touched.accounts)
    if (!before.accounts.find(name)) writes_.quotas().touched(name);
}

void AccountViews::start() {
  follower_.start();
  quotas_.start();
  writes_.controller().start();
  writes_.quotas().start();
}

bool AccountViews::known_space(std::string_view name) const {
  const auto state = views_.state();
  return state && (*state)->spaces.find(name) != nullptr;
}

std::vector<resources::KindPtr> AccountViews::kinds() {
  return {accounts::space_kind(std::make_shared<accounts::SpaceBacking>(views_, writes_)),
          accounts::account_kind(std::make_shared<accounts::AccountBacking>(views_, writes_)),
          accounts::namespace_kind(std::make_shared<accounts::NamespaceBacking>(views_, writes_))};
}

} // namespace zoo::app
