// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/account.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

/// What zood writes into the status of an Account. Pure.
namespace zoo::accounts {

/// What was found.
struct Found {
  std::set<std::string> spaces;      ///< namespaces with the account's label
  std::int64_t now = 0;              ///< Unix seconds
  bool looked = false;               ///< at all spaces: condition Ready is told anew
  std::optional<std::string> broken; ///< why they are not as the account says
  /// Why members have no rights in them all the same; "": they do.
  std::string without_rights;
  std::string waiting_for; ///< what a deletion waits for
  /// Entries of status.pending: left alone so long, and taken out at the latest.
  std::int64_t grace = 30, deadline = 600;
};

/// Brings the status up to date; false: it was.
bool update_status(nlohmann::json& status, const Account& account, const Found& found);

/// Sets a condition; its lastTransitionTime changes with its status alone.
void set_condition(nlohmann::json& status, std::string_view type, bool holds,
                   std::string_view reason, std::string_view message, std::int64_t generation,
                   std::int64_t now);

/// Adds to status.failedSpaces, of which the last ten are kept. Nothing if the last one says the
/// same of the same space.
void note_failed_space(nlohmann::json& status, std::string_view space, std::string_view requester,
                       std::string_view message, std::int64_t now);

} // namespace zoo::accounts
