// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/state.hpp"

#include <nlohmann/json_fwd.hpp>

/// Stored objects as the doors show them, and back. Pure; any thread.
namespace zoo::accounts {

/// The Space of tenancy.kiosk.sh that is the view of a Namespace: spec.account is the label
/// kiosk.sh/account, which does not stand among its labels; status.phase is Initializing while it
/// is being made.
nlohmann::json tenancy_space(const Space& space);
/// The Namespace itself, as upstream stores it.
nlohmann::json core_namespace(const Space& space);
/// The Account of tenancy.kiosk.sh: the stored Account of config.kiosk.sh in another group.
nlohmann::json tenancy_account(const Account& account);

/// The AccountQuota of tenancy.kiosk.sh: the stored one of config.kiosk.sh in another group.
nlohmann::json tenancy_quota(const Quota& quota);

/// The TemplateInstance of tenancy.kiosk.sh, likewise.
nlohmann::json tenancy_instance(const SpaceInstance& instance);

/// The reverse of tenancy_space(): the Namespace that a Space stands for. Its status is left out.
nlohmann::json namespace_of(const nlohmann::json& space);
/// The reverse of tenancy_account() and tenancy_instance().
nlohmann::json in_config(nlohmann::json object);

} // namespace zoo::accounts
