// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/objects.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// kiosk's words: groups, labels and annotations. https://github.com/loft-sh/kiosk
namespace zoo::accounts {

inline constexpr std::string_view k_config_group = "config.kiosk.sh";
inline constexpr std::string_view k_tenancy_group = "tenancy.kiosk.sh";
inline constexpr std::string_view k_version = "v1alpha1";
/// Label of a namespace: the Account that owns it.
inline constexpr std::string_view k_account_label = "kiosk.sh/account";
/// Annotation of a namespace, "true" while it is being made: nobody has access yet.
inline constexpr std::string_view k_initializing = "kiosk.sh/initializing";
/// Annotation of a namespace while it is being made: who asked, for which account, and when, as
/// JSON. A zood that died in between is followed by one that goes on from here.
inline constexpr std::string_view k_space_request = "zoo.kubezoo.io/space-request";

/// Annotation of a space that is made: names of templates that its user wants in it, with commas in
/// between.
inline constexpr std::string_view k_space_templates = "zoo.kubezoo.io/templates";

/// What becomes of the spaces of an Account that is deleted.
enum class DeletionPolicy : std::uint8_t {
  orphan, ///< they stay, without owner and without the members' access
  remove, ///< they go first
  refuse, ///< the Account cannot be deleted while it has any
};

using Labels = std::map<std::string, std::string, std::less<>>;

/// An entry of spec.space.bindings: members with a role of their own.
struct SpaceRole {
  std::vector<authz::Subject> subjects;
  std::string cluster_role;
};

/// One Account of config.kiosk.sh, read. Immutable; any thread.
struct Account {
  std::string name, uid, resource_version;
  std::int64_t revision = 0;             ///< the last one as a number
  std::vector<authz::Subject> subjects;  ///< spec.subjects: members with the role `cluster_role`
  std::vector<SpaceRole> roles;          ///< spec.space.bindings: members, too
  std::vector<std::string> subject_keys; ///< authz::subject_key() of all members, sorted, each once
  /// Bound for the members in each space; "": none. Nothing: accounts.default_cluster_role.
  std::optional<std::string> cluster_role;
  std::optional<std::int64_t> limit;      ///< of spaces; none: as many as they like
  Labels space_labels, space_annotations; ///< of spec.space.spaceTemplate: they win over the user's
  bool reconcile = true; ///< spec.space.reconcile: the template is kept on spaces that exist, too
  DeletionPolicy deletion = DeletionPolicy::orphan;
  bool deleting = false; ///< has a deletionTimestamp
  std::string object;    ///< the whole of it, as upstream wrote it (JSON)
};
using AccountPtr = std::shared_ptr<const Account>;

/// Reads an Account as the upstream stores it. It never fails for what an object contains, since
/// one bad Account must not hold up the others: a field of the wrong type counts as absent. Null:
/// this is no JSON object with a name.
AccountPtr read_account(std::string_view object);

} // namespace zoo::accounts
