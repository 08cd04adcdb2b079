// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/accounts/state.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

/// Whether a change of a space that exists may be made, and in which words it may not. Pure; any
/// thread.
namespace zoo::accounts {

/// What a write of a space is judged by.
struct SpaceMoment {
  StatePtr state;
  authz::User user;
  std::string name; ///< of the space
};

/// `spaces.tenancy.kiosk.sh "x" not found`
Error no_space(std::string_view name);
/// An error of upstream about the namespace, as one about the space.
Error as_space_error(const Error& error, std::string_view name);
/// Code::forbidden for a user who has no right to the space; it does not tell whether one exists.
Error may_not_write(const authz::User& user, std::string_view verb, std::string_view name);

/// Do upstream's rights let the user change the namespace?
bool may_update_space(const State& state, const authz::User& user, std::string_view name);
/// `account`: that owns a space. Is the user a member of it, or allowed to give its spaces away?
bool owns_space(const State& state, const authz::User& user, std::string_view account);

/// The Space that shows a Namespace.
nlohmann::json space_shown_by(const nlohmann::json& name_space);

/// The Space that a user wishes who writes this Namespace: the owner is taken from the label or
/// from the annotation kiosk.sh/account.
nlohmann::json space_wished_by(nlohmann::json name_space);

/// Code::conflict: the writer has read another version of the space, or another space.
Result<void> check_versions(const nlohmann::json& space, const nlohmann::json& live,
                            std::string_view name);

/// May the user make `space` of `before`, which is how the namespace `known` is shown? `right`: he
/// may update the namespace itself. Code::forbidden, or Code::conflict while it is being made.
Result<void> judge_change(const SpaceMoment& moment, bool right, const Space& known,
                          const nlohmann::json& before, const nlohmann::json& space);

} // namespace zoo::accounts
