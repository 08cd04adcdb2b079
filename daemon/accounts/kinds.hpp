// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/kind.hpp"

#include <memory>

/// The kinds of the account doors, as rows of the API room.
namespace zoo::accounts {

/// Space of tenancy.kiosk.sh, cluster-scoped: a namespace as its account sees it.
resources::KindPtr space_kind(std::shared_ptr<resources::Backing> backing);
/// Account of tenancy.kiosk.sh, cluster-scoped: an Account of config.kiosk.sh, shown to its
/// members.
/// Read-only: who writes quotas does so in config.kiosk.sh.
resources::KindPtr quota_kind(std::shared_ptr<resources::Backing> backing);
resources::KindPtr account_kind(std::shared_ptr<resources::Backing> backing);
/// Namespace of the core group, at the account door: what the caller may see of them.
resources::KindPtr namespace_kind(std::shared_ptr<resources::Backing> backing);

} // namespace zoo::accounts
