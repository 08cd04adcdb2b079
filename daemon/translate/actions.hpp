// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/rules.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// What the rules do to one string, apart from where it stands: pure functions, one case for each
/// Action and KeyAction. The walk (rewrite.cpp) finds the places and carries the answers out.
namespace zoo::translate {

class WordSource;

/// What shall become of a value or a key.
enum class Fate : std::uint8_t {
  keep,    ///< as it is
  replace, ///< by what stands in the output
  drop,    ///< leave the whole member out
  foreign, ///< outward: not the tenant's
  refuse,  ///< inward, prove: the output says why (a clause: "is reserved ...")
  invalid, ///< inward: the output says why; 422 instead of 403
};

/// The members beside (or above, up to the object whose node has Node::siblings) a value that
/// decide what it means.
struct Siblings {
  std::string kind, api_version, group, resource, scope_name, key, type, operation;
};
struct SiblingKey {
  std::string_view key; ///< of the member in JSON
  std::string Siblings::* to;
};
inline constexpr std::array<SiblingKey, 9> k_sibling_keys = {{
    {"kind", &Siblings::kind},
    {"apiVersion", &Siblings::api_version},
    {"apiGroup", &Siblings::group},
    {"group", &Siblings::group},
    {"resource", &Siblings::resource},
    {"scopeName", &Siblings::scope_name},
    {"key", &Siblings::key},
    {"type", &Siblings::type},
    {"operation", &Siblings::operation},
}};

/// Where a value stands.
struct Site {
  const Mapping& mapping;
  Direction direction;
  const Root& root;
  const Siblings& siblings;
  std::string_view key;             ///< of the member that holds the value
  std::string_view event_namespace; ///< in the input's names
  WordSource* words = nullptr;      ///< outward: of the document, for texts
  bool in_metadata = false;         ///< a member of the object's own metadata
};

/// `value` unescaped. `output` holds the new value, or the reason.
Fate act(Action action, std::uint8_t parameter, const Site& site, std::string_view value,
         std::string& output);

/// The same for a key of a map.
Fate act_on_key(KeyAction action, const Site& site, std::string_view key, std::string& output);

/// Name of an object of `kind`, whose group may be unknown (then `group` is "*").
Fate act_on_name(const Mapping& mapping, Direction direction, std::string_view group,
                 std::string_view kind, std::string_view name, std::string& output);

/// Annotations and labels whose key has this domain (or one below it) are zood's.
inline constexpr std::string_view k_own_domain = "zoo.kubezoo.io";
inline constexpr std::string_view k_aggregation_annotation = "zoo.kubezoo.io/aggregation-rule";
inline constexpr std::string_view k_global_default_annotation = "zoo.kubezoo.io/global-default";
inline constexpr std::string_view k_scopes_annotation = "zoo.kubezoo.io/rule-scopes";
/// A group that no API has: admission rules of scope Cluster are stored for it, and match nothing.
inline constexpr std::string_view k_no_group = "cluster.zoo.kubezoo.io";
/// The tenant's user and groups, percent-encoded, as upstream writes a requester's extras.
inline constexpr std::string_view k_requester_extra = "zoo-user";
inline constexpr std::string_view k_requester_group_extra = "zoo-group";
/// In front of who acts for a class of a tenant's own: nobody is called so (docs/decisions/124).
inline constexpr std::string_view k_inert_driver = "zoo-inert-";
/// What a tenant wished for where zood enforces something else (DESIGN 8).
inline constexpr std::string_view k_wish_label = "kept.zoo.kubezoo.io/pod-security-enforce";
inline constexpr std::string_view k_enforce_label = "pod-security.kubernetes.io/enforce";
inline constexpr std::string_view k_wish_version_label =
    "kept.zoo.kubezoo.io/pod-security-enforce-version";
inline constexpr std::string_view k_version_label = "pod-security.kubernetes.io/enforce-version";
inline constexpr std::string_view k_enforced_level = "baseline";
inline constexpr std::string_view k_restricted = "restricted"; ///< the level that a tenant may add
inline constexpr std::string_view k_name_label = "kubernetes.io/metadata.name";

/// Is a definition of that name in a group of the platform's, where no tenant may have one?
bool platforms_definition(const Mapping& mapping, std::string_view name);

/// Does an Event about such an object need a namespace upstream? Not if the kind is namespaced.
bool fills_event_namespace(const Siblings& siblings);

bool own_key(std::string_view key); ///< its domain is zood's

/// Why a member of this key may not be set: the rule, and the way out.
std::string_view refusal(std::string_view key);
inline constexpr std::string_view k_reserved =
    "is reserved (rule reserved-names): the platform sets it, leave it out";

} // namespace zoo::translate
