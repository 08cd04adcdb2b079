// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/state.hpp"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What may be written into a space, and by whom. Pure; any thread. Errors are sentences for the
/// user.
namespace zoo::accounts {

/// Annotation of a namespace: the Account that owned it until it was deleted.
inline constexpr std::string_view k_orphaned_from = "zoo.kubezoo.io/orphaned-from";

/// The ID of the existing Tenant under whose prefix a name lies; "" if there is none.
using TenantOf = std::function<std::string(std::string_view name)>;

/// Code::invalid if it is no name of a namespace, Code::forbidden if it is not for spaces.
Result<void> check_space_name(std::string_view name, const TenantOf& tenant_of);

/// Is this label or annotation not for users: does it decide who owns the namespace, who may look
/// into it, or what pods may do there?
bool reserved_key(std::string_view key);

/// May a spaceTemplate set it? Not that by which zood knows a space, or a tenant.
bool for_templates(std::string_view key);

/// The first reserved label or annotation whose value is not the same in both; `before` is null for
/// an object that is new. Code::forbidden with the key.
Result<void> check_reserved_keys(const nlohmann::json& space, const nlohmann::json* before);
/// The same for what is applied to the space `before`, which may leave reserved keys out.
Result<void> check_applied_keys(const nlohmann::json& applied, const nlohmann::json& before);

/// Is everything the same but labels, annotations and what the server writes?
bool only_labels_differ(const nlohmann::json& space, const nlohmann::json& before);

// Upstream's RBAC, asked about one user.

bool may_in_namespace(const State& state, const authz::User& user, std::string_view verb,
                      std::string_view name_space);
/// Core `create namespaces`.
bool may_create_namespaces(const State& state, const authz::User& user);
/// A verb on one object of config.kiosk.sh or tenancy.kiosk.sh; an empty name: on all.
bool may_on(const State& state, const authz::User& user, std::string_view verb,
            std::string_view group, std::string_view resource, std::string_view name);

// Members.

/// `user "bob" is no member of account "a"`
Error no_member(const authz::User& user, std::string_view account);
/// `accounts.config.kiosk.sh "a" not found`
Error no_account(std::string_view account);
/// Code::conflict.
Error account_goes(std::string_view account);
/// Code::forbidden.
Error limit_reached(std::int64_t limit, std::string_view account);
/// How many there are of what, and which, as in "2 accounts (a, b)".
std::string counted(std::size_t count, std::string_view one, const std::vector<std::string>& names);

/// Which account a space without spec.account goes to.
struct Owner {
  std::string account; ///< "": nobody's
  std::string warning; ///< for the user; may be empty
};
/// Code::bad_request if he must say it, Code::forbidden if there is none for him.
Result<Owner> default_owner(const State& state, const authz::User& user, std::string_view space,
                            bool single_account_default);

} // namespace zoo::accounts
