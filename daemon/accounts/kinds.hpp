// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/resources/kind.hpp"

#include <functional>
#include <memory>
#include <string>

/// The kinds of the account doors, as rows of the API room.
namespace zoo::accounts {

/// What `-o wide` shows beside what a space says itself. Null: "". Any thread; does not block.
struct SpaceCells {
  std::function<std::string(const std::string& space)> templates{}, quota{};
};
/// Space of tenancy.kiosk.sh, cluster-scoped: a namespace as its account sees it.
resources::KindPtr space_kind(std::shared_ptr<resources::Backing> backing, SpaceCells cells = {});
/// Account of tenancy.kiosk.sh, cluster-scoped: an Account of config.kiosk.sh, shown to its
/// members.
resources::KindPtr account_kind(std::shared_ptr<resources::Backing> backing);
/// AccountQuota of tenancy.kiosk.sh, cluster-scoped and read-only: quotas are written in the group
/// config.kiosk.sh.
resources::KindPtr quota_kind(std::shared_ptr<resources::Backing> backing);
/// TemplateInstance of tenancy.kiosk.sh: one of config.kiosk.sh, in its namespace.
resources::KindPtr instance_kind(std::shared_ptr<resources::Backing> backing);
/// Namespace of the core group, at the account door: what the caller may see of them.
resources::KindPtr namespace_kind(std::shared_ptr<resources::Backing> backing);

} // namespace zoo::accounts
