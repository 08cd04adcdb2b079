// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/authz/rights.hpp"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class ControlApi;
}

/// The RoleBindings that let the members of an account into one of its spaces: one for
/// spec.subjects, and one for each role of spec.space.bindings. Each function blocks.
namespace zoo::accounts {

inline constexpr std::string_view k_binding = "zoo:account";
/// With eight digits behind it that come of the role: of members with a role of their own.
inline constexpr std::string_view k_role_binding_prefix = "zoo:account-";
/// Stands while another role takes the place of the one that is bound: a roleRef never changes.
inline constexpr std::string_view k_next_binding = "zoo:account-next";
inline constexpr std::string_view k_managed_label = "zoo.kubezoo.io/managed";

/// Whom to let in, and as what.
struct Members {
  AccountPtr account; ///< null: nobody
  std::string role;   ///< a ClusterRole, of spec.subjects; "": none of them is let in
  /// Of spec.subjects: is anybody let in?
  bool any_subject() const { return account && !role.empty() && !account->subjects.empty(); }
  bool any() const { return any_subject() || (account && !account->roles.empty()); }
  bool lets_in(const authz::User& user) const;
};
/// `default_role`: of an Account that says nothing of it.
Members members_of(AccountPtr account, std::string_view default_role);

/// ClusterRoles of these members that upstream does not have: their bindings give nothing. Sorted.
std::vector<std::string> missing_roles(const authz::Rights& rights, const Members& members);

/// `metadata` of an object that zood keeps in a space for the account that owns it: upstream's
/// garbage collector removes it with the Account.
nlohmann::json kept_metadata(std::string_view space, std::string_view name, const Account& account);

/// Of spec.subjects, under this name.
nlohmann::json binding_manifest(std::string_view space, std::string_view name,
                                const Members& members);

/// RoleBindings that zood made for members in one space, or (an empty name) in all, by space.
using Bindings = std::map<std::string, std::vector<nlohmann::json>, std::less<>>;
Result<Bindings> bindings_in(upstream::ControlApi& api, std::string_view space);

/// Do the bindings of a space let in the members, and nobody else?
bool bindings_are_right(const std::vector<nlohmann::json>& bindings, std::string_view space,
                        const Members& members);

/// Makes them so. `bindings` are those that were read. If another role is to be bound, the new
/// binding comes first and the old one goes after it; where the role stays, one write moves the
/// space from the old members to the new ones. What somebody else has put in the place of one gives
/// way, with its finalizers. One that cannot be made is told at the end (Code::already_exists, or
/// upstream's refusal): what is to go has gone by then.
Result<void> put_bindings_right(upstream::ControlApi& api, std::string_view space,
                                std::vector<nlohmann::json> bindings, const Members& members);

} // namespace zoo::accounts
