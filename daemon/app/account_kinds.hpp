// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/config/config.hpp"
#include "daemon/tenants/service.hpp"

#include <nlohmann/json_fwd.hpp>

#include <vector>

namespace zoo::upstream {
class Credential;
}

namespace zoo::app {

/// With accounts.enabled: installs or brings up to date what accounts need upstream, as
/// upstream::install_accounts() says. Blocks; start-up only.
Result<void> install_account_kinds(const upstream::Credential& credential,
                                   const config::Values& values);

/// What doctor says of these objects; nothing without accounts.enabled. Blocks.
std::vector<tenants::Finding> account_findings(const upstream::Credential& credential,
                                               const config::Values& values);

/// Removes them. Code::conflict with accounts.enabled: this zood would put them back, and end the
/// Accounts as their deletion policies say. Blocks.
Result<nlohmann::json> uninstall_account_kinds(const upstream::Credential& credential,
                                               const config::Values& values, bool force,
                                               bool dry_run);

} // namespace zoo::app
