// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/api/terms.hpp"
#include "daemon/access/actor.hpp"
#include "daemon/access/principal.hpp"
#include "daemon/access/set_of.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/viewer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::translate {
struct Relay;
} // namespace zoo::translate

namespace zoo::access {

class Authorizer;
class FlowShare;
class LocalApi;
class UpstreamRights;

/// Whom upstream takes a request for that goes as Actor::client().
enum class Passage : std::uint8_t {
  tenant_user, ///< user zoo:<id>, whose rights end at the tenant's namespaces
  caller,      ///< the caller's own user, groups, UID and extras: upstream judges him
};

/// What may be seen of a path that holds objects of others, too.
enum class Sight : std::uint8_t {
  own_keys,      ///< only keys that are the view's own; positions in lists leave zood sealed
  as_told_to_it, ///< what upstream answers to the caller himself
};

/// Rules of the platform that hold whatever rights the client has.
enum class Fence : std::uint8_t {
  kinds,    ///< kinds that are hidden or read-only, and subresources that reach other tenants
  objects,  ///< what an object may not be: the guards, token secrets, signers, grants
  tokens,   ///< a TokenRequest makes tokens for zood's own audience alone
  ceilings, ///< how much may be stored
};

/// What zood answers itself, where upstream has something else under that name or nothing.
enum class Local : std::uint8_t {
  roles,      ///< the system roles and bindings
  namespaces, ///< the standing namespaces; each new namespace gets the fence of its tenant
  kept_kinds, ///< kinds that zood keeps itself, alone or beside the platform's objects
  reviews,    ///< access reviews, TokenReview and SelfSubjectReview
};

/// The answers of a view to what the gateway asks. All of them are given when one is made: nothing
/// has a default, and nothing is inferred from a missing prefix.
class Answers {
public:
  constexpr Answers(Passage goes_as, Sight sees, SetOf<Fence> held_by, SetOf<Local> served_here,
                    SetOf<Reason> reasons)
      : passage(goes_as), sight(sees), fences(held_by), local(served_here), as_zood(reasons) {}

  Passage passage;
  Sight sight;
  SetOf<Fence> fences;
  SetOf<Local> local;
  SetOf<Reason> as_zood; ///< the reasons for which its requests may go upstream as zood
};

/// A tenant's: it goes as the tenant's user, sees its own keys, and every fence holds.
inline constexpr Answers k_tenant_answers{
    Passage::tenant_user, Sight::own_keys, SetOf<Fence>::all(Fence::ceilings),
    SetOf<Local>::all(Local::reviews), SetOf<Reason>::all(Reason::namespace_gone)};

/// An account's user's: upstream judges him as himself, and no fence holds. What zood shows of a
/// list over all namespaces to who may not read all of them, and what it serves itself, stands
/// beside (View::rights, View::local_api).
inline constexpr Answers k_account_answers{
    Passage::caller, Sight::as_told_to_it, {}, {}, {Reason::documents, Reason::own_rights}};

struct View;

/// An object to be made upstream.
struct NewObject {
  std::string collection; ///< upstream's path of it
  std::string json;
};

/// What zood writes upstream for a namespace that a client makes. Plain functions of the tenant's
/// ID and the namespace's upstream name; each returns the JSON of one object.
struct NamespaceTexts {
  std::string (*of_namespace)(std::string_view id, std::string_view upstream_name,
                              std::string_view inside);
  std::string (*of_binding)(std::string_view id, std::string_view upstream_name);
  /// A merge patch of a namespace, for what the client itself could not say in it.
  std::string (*of_inside)(std::string_view inside) = nullptr;
  std::string_view inside{}; ///< what the Tenant has switched off for its pods; "": nothing
  /// What stands in each namespace beside that binding (translate/hidden_names.hpp).
  std::vector<NewObject> (*kept_in)(const View& view, std::string_view upstream_name);
};

/// What a client sees of an upstream: the one object that the rest of a request's way asks. A
/// ViewSource makes it. Immutable, shared by the requests of one moment; any thread.
struct View {
  Answers answers;
  translate::Mapping
      mapping;         ///< which names are upstream's for the client's: with a prefix or as is
  std::string uid;     ///< of the Tenant behind it, or ""; part of every sealed token
  std::string created; ///< creationTimestamp of the objects that every cluster is made with
  std::shared_ptr<const Authorizer> authorizer; ///< of requests and of reviews; never null
  std::string upstream_user;                    ///< of Passage::tenant_user: "zoo:<id>"; else ""
  std::optional<api::AuditLevel> audit;         ///< its own level; none: zood's
  api::Guards guards;                           ///< asked where Fence::objects holds
  api::Quota quota;                             ///< asked where Fence::ceilings holds
  api::Flow flow;                               ///< how much may go on at the same time
  std::shared_ptr<FlowShare> share;             ///< what does go on; thread-safe; never null
  NamespaceTexts texts;                         ///< asked where Local::namespaces is served
  std::shared_ptr<const LocalApi> local_api{};  ///< what is answered here; null: nothing
  /// The caller's rights upstream. A list or a watch over all namespaces shows him only the
  /// namespaces in which they let him read; null: such lists and watches are not filtered.
  std::shared_ptr<const UpstreamRights> rights{};
  /// Through which upstream calls the tenant's webhooks; null: it calls their Services itself.
  std::shared_ptr<const translate::Relay> relay{};
  /// PEM: what pods of the tenant verify zood by, ConfigMap zoo-root-ca.crt. Null: nothing is kept
  /// in its namespaces.
  std::shared_ptr<const std::string> authorities{};
  /// Are pods given these authorities, and zood's address, in place of upstream's? Then `mapping`
  /// shows them in ConfigMap kube-root-ca.crt.
  bool inside = false;

  bool holds(Fence fence) const { return answers.fences.has(fence); }
  bool serves(Local local) const { return answers.local.has(local); }
  bool shows_own_keys() const { return answers.sight == Sight::own_keys; }
  /// May a request go upstream as zood for this reason? Never for one whose proof is the prefix, in
  /// a view that has none.
  bool allows(Reason reason) const {
    return answers.as_zood.has(reason) && !(mapping.identity() && rests_on_prefix(reason));
  }
  /// For what looks up a kind or makes a path in translate/. Not longer than the view.
  translate::Viewer viewer() const {
    return {mapping,
            holds(Fence::kinds) ? translate::KindRules::platform : translate::KindRules::upstream};
  }
};

} // namespace zoo::access
