// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_views.hpp"

#include "daemon/accounts/backings.hpp"
#include "daemon/accounts/kinds.hpp"
#include "daemon/accounts/known_rights.hpp"

namespace zoo::app {

using accounts::ViewBacking;
using accounts::ViewOf;

AccountViews::AccountViews(upstream::Upstream& upstream, net::Loop& loop,
                           std::size_t most_rbac_bytes)
    : rights_(accounts::rights_of(views_)),
      follower_(
          upstream, loop, most_rbac_bytes,
          [this](const accounts::StatePtr& before, const accounts::StatePtr& now,
                 const accounts::Touched& touched) { views_.published(before, now, touched); }) {}

bool AccountViews::known_space(std::string_view name) const {
  const auto state = views_.state();
  return state && (*state)->spaces.find(name) != nullptr;
}

std::vector<resources::KindPtr> AccountViews::kinds() {
  const auto view = [this](ViewOf what, std::string resource) {
    return std::make_shared<ViewBacking>(views_, what, std::move(resource));
  };
  return {accounts::space_kind(view(ViewOf::spaces, "spaces")),
          accounts::account_kind(view(ViewOf::accounts, "accounts")),
          accounts::namespace_kind(view(ViewOf::namespaces, ""))};
}

} // namespace zoo::app
