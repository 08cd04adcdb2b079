// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/accounts/paths.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::upstream {
class ControlApi;
}

/// The limit of an account's spaces. A space that is to be made is reserved first: by an entry in
/// the Account's status.pending, put there by compare-and-swap. What counts is the names of the
/// namespaces with the account's label together with those of the entries, and an entry is only
/// taken away when its namespace is there, or will never be. So the limit holds for any number of
/// creations at once, of any number of zoods (docs/decisions/176). Each function blocks; one thread
/// at a time for each connection.
namespace zoo::accounts {

/// The Account as it is upstream now. Code::not_found in the words of no_account().
Result<AccountPtr> fetch_account(upstream::ControlApi& api, std::string_view name);

/// Changes the status of an Account, again and again if somebody else wrote in between. `change`
/// says false if there is nothing to write; its error ends the attempt. Of the status, `change`
/// sees an object, never null.
Result<void>
change_status(upstream::ControlApi& api, std::string_view account,
              const std::function<Result<bool>(nlohmann::json& status, const Account&)>& change);

/// Of an Account whose spaces are to be seen to before it goes.
inline constexpr std::string_view k_finalizer = "zoo.kubezoo.io/spaces";

/// Puts that finalizer on the Account, or takes it away, unless it is as wanted. Code::conflict if
/// somebody wrote the Account since `account` was read; one that is gone is no error.
Result<void> set_finalizer(upstream::ControlApi& api, const Account& account, bool wanted);

/// Names of the namespaces that carry the account's label at the moment of the call, those that
/// are Terminating among them.
Result<std::set<std::string>> namespaces_of(upstream::ControlApi& api, std::string_view account);

/// A space that is to be reserved.
struct Wish {
  std::string account, space, requester;
  std::int64_t now = 0; ///< Unix seconds
};

struct Reserved {
  std::string id; ///< of this creation
  AccountPtr account;
};
/// Reserves a space, of an Account with k_finalizer from then on, so that no deletion of it passes
/// over the space. An account without limit needs no entry and gets none. Code::forbidden if the
/// limit is reached, Code::not_found if there is no such account, Code::conflict if it is being
/// deleted. `dry_run`: looks only.
Result<Reserved> reserve(upstream::ControlApi& api, const Wish& wish, bool dry_run);

/// The namespace is there and counts by its label now, so the entry goes. Code::forbidden if the
/// entry was gone already and there are too many spaces: this one came too late. Returns the
/// Account.
Result<AccountPtr> settle(upstream::ControlApi& api, std::string_view account, std::string_view id);

/// The namespace will never be there. Nothing happens if there is no such entry.
Result<void> release(upstream::ControlApi& api, std::string_view account, std::string_view id);

/// Takes the entry out of a status; false: there was none.
bool drop_entry(nlohmann::json& status, std::string_view id);

/// Takes out entries whose namespaces stand in `spaces` or which are older than `deadline`
/// seconds: their makers died. Entries younger than `grace` seconds are left to them. True: there
/// were some.
bool drop_stale_entries(nlohmann::json& status, const std::set<std::string>& spaces,
                        std::int64_t now, std::int64_t grace, std::int64_t deadline);

} // namespace zoo::accounts
