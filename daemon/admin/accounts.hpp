// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/api_types.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>

namespace zoo::admin {

/// Removes what accounts need upstream (common/kiosk/removal.hpp) and tells what that was, as
/// kiosk::to_json(). Blocks; worker threads.
using UninstallAccounts = std::function<Result<nlohmann::json>(bool force, bool dry_run)>;

/// POST /zoo/v1/uninstall-accounts?force=true&dryRun=All
Answer uninstall_accounts_answer(const Request& request, const UninstallAccounts& uninstall);

} // namespace zoo::admin
