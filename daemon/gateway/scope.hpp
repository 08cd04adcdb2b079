// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/access.hpp"
#include "daemon/gateway/render.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/upstream/list_source.hpp"
#include "daemon/upstream/page_spaces.hpp"

#include <vector>

/// How far a request reaches, and as whom it goes: the decisions on which isolation rests, in one
/// place. Pure but for the exchange they read.
namespace zoo::gateway {

class Exchange;

/// Where a list, watch or deletecollection finds the tenant's objects.
struct Reach {
  explicit Reach(Actor as) : actor(as) {}

  Actor actor;
  bool straight = false; ///< the path itself holds nothing but what the client may see
  std::vector<upstream::KeyRange> ranges; ///< else: these keys of a path that is everybody's
  bool all_namespaces = false;
  std::int64_t revision = -1; ///< at which `ranges` are all that there is; -1: as it is now
  /// What a watch hears where `ranges` are less than it may have to tell; empty: `ranges`.
  std::vector<upstream::KeyRange> watched;
  /// A list of all namespaces is made of lists of these, each as the client himself; null: no.
  upstream::PageSpaces::Spaces spaces;
};
Result<Reach> reach_of(const Exchange& exchange);

/// Before zood asks in its own name in the namespace of `exchange`: one under the tenant's prefix
/// may be somebody else's. Code::not_found, as of one that is not there; Code::unavailable while
/// that is not known.
Result<void> check_namespace_is_ours(const Exchange& exchange);

/// The same of the tenant's definitions, whose keys stand among everybody's: those with its label,
/// which zood gives to each that it writes, or these by their names where that is less work.
/// `shown`: the platform's that it may see, too. All, where that would not find every one, or not
/// from the position of the client's.
std::vector<upstream::KeyRange> definition_ranges(const Exchange& exchange, bool shown);
/// Is a definition of that name the tenant's own?
bool owns_definition(const translate::Mapping& mapping, std::string_view name);

/// Is a list of PersistentVolumes to be read by their names, once the tenant's claims have said
/// which volumes they have (flows/own_names.cpp)? Where reading everybody's would cost more.
bool lists_volumes_by_name(const Exchange& exchange);

/// The same of IPAddresses: once the tenant's Services have said which ones they have.
bool lists_addresses_by_name(const Exchange& exchange);

/// May a request go on with the names that were looked up for it? soon: a moment later it may know
/// more; no: not without what is still to come.
enum class Ready { yes, soon, no };
/// Are the Services' addresses those that are known of, or everybody's are read anyhow?
Ready knows_own_addresses(const Exchange& exchange);
/// Is it known whose each volume is, for filter_of() of attachments?
Ready knows_volumes(const Exchange& exchange);

/// As whom a request for one object goes.
Actor actor_of(const Exchange& exchange);

/// Admission policies and their bindings.
bool is_admission_policy(const translate::Target& target);

/// CustomResourceDefinitions.
bool is_definition(const translate::Target& target);

/// Kinds whose objects are called as the nodes that they describe: nodes, csinodes.
bool names_nodes(const translate::Target& target);

/// Which objects may be shown, if no more than their keys says it; else null.
KeyFilter key_filter_of(const Exchange& exchange);
/// The same of whole objects, `by_key` being what key_filter_of() says; null: all that reach_of()
/// and the path let through.
ObjectFilter filter_of(const Exchange& exchange, const KeyFilter& by_key);

/// Of a watch whose objects may cease to be the tenant's while they are there: volumes, and what is
/// attached of them. Null: they cannot, or upstream's own watch tells it.
LeftFilter left_filter_of(const Exchange& exchange);
/// Of a watch of attachments: has zood heard of the volume, or heard enough to know that there is
/// none? Null for other kinds.
ObjectFilter decided_filter_of(const Exchange& exchange);

/// What a list or deletecollection of one namespace asks upstream for beside the client's own
/// selector, so that neither finds what is hidden (translate/hidden_names.hpp) and a page holds as
/// many objects as it says; "": nothing. A watch, and a list of all namespaces, has key_filter_of().
std::string own_field_selector(const Exchange& exchange);

/// Does filter_of() look at more than metadata?
bool needs_whole_object(const Exchange& exchange);

} // namespace zoo::gateway
