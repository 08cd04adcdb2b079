// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/accounts.hpp"

#include <nlohmann/json.hpp>

namespace zoo::admin {

Answer uninstall_accounts_answer(const Request& request, const UninstallAccounts& uninstall) {
  if (request.method != "POST") return wrong_method(request, "POST");
  const auto force = request.flag("force");
  if (!force) return failure(force.error());
  const auto dry_run = request.parameter("dryRun");
  if (!dry_run.empty() && dry_run != "All")
    return failure(
        Error(Code::bad_request, fmt::format("dryRun is All or left out, not '{}'", dry_run)));
  if (!uninstall)
    return failure(Error(Code::unavailable, "this zood cannot remove what accounts need"));
  const auto done = uninstall(*force, !dry_run.empty());
  return done ? json_answer(200, *done) : failure(done.error());
}

} // namespace zoo::admin
