// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/translate/viewer.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace zoo::translate {

/// What a request is about, by the path grammar of k8s.io/apiserver
/// pkg/endpoints/request/requestinfo.go; everything decoded, in the names of the asker.
struct Target {
  /// A request for a resource. Else: discovery, health, OpenAPI..., `path` says which.
  bool resource_request = false;
  std::string path; ///< decoded and canonical, without the query; no trailing slash

  /// get list watch create update patch delete deletecollection; for a non-resource request the
  /// method in lower case. A proxy subresource keeps the verb of its method, as RBAC sees it; ""
  /// there for methods that have none (OPTIONS).
  std::string verb;
  std::string group, version, resource, subresource;
  std::string name; ///< from the path
  /// The Namespace object itself has its own name here too, so that RBAC in it decides.
  std::string name_space;
  /// Behind the subresource, beginning with "/", as it was written (proxy): never translated.
  std::string rest;

  /// The deprecated /watch/ prefix. A name behind it selects in `list`, and is asked about.
  bool legacy_watch = false;
  /// exec, attach, portforward, proxy: the connection may become a tunnel.
  bool connect = false;
  /// A namespace in a namespace's path, which upstream does not serve: it would take what follows
  /// for a resource in the namespace, and rights on a subresource would decide about that.
  bool nested = false;
  /// watch, log and connect: no time limit, no buffering.
  bool long_running = false;

  Params params;
  ListOptions list; ///< of get-less reads and deletecollection: parsed and validated

  /// The name that authorization asks about: `name`, or the value that a list or watch demands by
  /// fieldSelector metadata.name=.
  std::string authorization_name() const;
  bool named() const { return !name.empty(); }
  bool is(std::string_view a_group, std::string_view a_resource) const {
    return resource_request && group == a_group && resource == a_resource;
  }
  bool writes() const; ///< create update patch delete deletecollection
  /// Does a resource of this scope stand where the path says? A cluster-scoped one in a namespace
  /// does not: rights in that namespace would decide about it.
  bool in_place(bool namespaced) const {
    if (nested) return false;
    return namespaced || name_space.empty() || (is("", "namespaces") && name == name_space);
  }
};

/// Parses method and origin-form target ("/api/v1/pods?limit=5"). The path is decoded once, then
/// must be canonical: Code::bad_request for `.`, `..`, empty segments, encoded slashes and percent
/// signs, control characters, backslashes, bytes that are not UTF-8, more than 8 KiB;
/// Code::method_not_allowed for a method that means nothing on a resource; Code::not_found for
/// the removed /proxy/ prefix. One trailing slash is dropped from resource and discovery paths.
Result<Target> parse_target(std::string_view method, std::string_view target);

/// How the name of a cluster-scoped object is mapped (mode column of the resource table).
enum class NameRule : std::uint8_t {
  verbatim,             ///< shared kinds, custom resources (their group isolates them)
  prefixed,             ///< private: <id>-name
  overlay,              ///< shared names stay, others are prefixed
  crd,                  ///< <plural>.<id>-<group>
  volume,               ///< PersistentVolume
  cluster_role,         ///< prefixed; system roles verbatim and read-only
  cluster_role_binding, ///< stored as RoleBinding zoo:crb:<name> in <id>-kube-system
  signer_bundle,        ///< ClusterTrustBundle: signer with ':' and a name
  service_address,      ///< IPAddress: verbatim, the tenant's if its Service is
  attachment,           ///< VolumeAttachment: verbatim, the tenant's if its volume is
};

/// What a tenant may do with a built-in kind, before its own RBAC is asked.
enum class Treatment : std::uint8_t {
  served,      ///< all verbs
  read_only,   ///< get, list, watch: the platform's objects
  mixed,       ///< the platform's are read-only; beside them stand the tenant's, kept by zood
  create_only, ///< reviews: answered from the body
  kept,        ///< zood keeps them itself, nothing of them goes upstream (daemon/virtuals)
  hidden,      ///< not in discovery, answered 404
};

/// One row of what zood knows about a kind beyond its field rules.
struct KindFacts {
  std::string_view group, resource, kind;
  NameRule names = NameRule::verbatim;
  Treatment treatment = Treatment::served;
  std::optional<Overlay> overlay;
};

/// Facts by resource or by kind; kinds that are not listed are namespaced and served (built-in),
/// or custom. The answer lives for ever.
const KindFacts* find_facts(std::string_view group, std::string_view resource);
/// `group` may be "" with a kind of any group, as object references often have it.
const KindFacts* find_facts_of_kind(std::string_view group, std::string_view kind);

/// The name of a cluster-scoped object inward, outward (nullopt: not the tenant's). `facts` null:
/// verbatim.
std::string object_name_in(const Mapping& mapping, const KindFacts* facts, std::string_view name);
std::optional<std::string> object_name_out(const Mapping& mapping, const KindFacts* facts,
                                           std::string_view name);

/// Is it the name of one of the ClusterRoles that every cluster has from Kubernetes (`admin`,
/// `system:node`)? They are read-only copies that zood computes; every other name, also one that
/// begins with `system:`, is a tenant's to give.
bool system_role(std::string_view name);
std::span<const std::string_view> system_roles(); ///< these names, in byte order

inline constexpr std::string_view k_binding_prefix = "zoo:crb:";
inline constexpr std::string_view k_rbac_group = "rbac.authorization.k8s.io";
inline constexpr std::size_t k_max_namespace = 56; ///< 63 less prefix; the identity has 63
inline constexpr std::size_t k_max_name = 246;     ///< 253 less prefix

/// The upstream path (encoded, without query) of a resource request. `namespaced`: the scope of
/// the resource by discovery. Code::not_found for what cannot exist or is hidden (too long a name,
/// zood's own objects: hidden_names.hpp), Code::forbidden for writes to what is read-only or to
/// zood's own, in Kubernetes' wording.
/// A list or watch of a private cluster-scoped kind gets the kind's path; narrowing it to the
/// tenant's range is the caller's (DESIGN 6).
/// Under the platform's rules a deletecollection that upstream would also apply to what is not the
/// tenant's (other tenants' objects on a cluster-scoped path, zood's own RoleBindings) is refused
/// with Code::forbidden: the caller lists the tenant's objects and deletes one by one. So are
/// writes of a PersistentVolume that keeps its name upstream (`pvc-<uid>`); before an answer to a
/// read of one is shown, the caller checks that its spec.claimRef.namespace is the tenant's.
Result<std::string> upstream_path(const Target& target, bool namespaced, const Viewer& viewer);

/// "pods", "deployments.apps": how Status messages name a resource.
std::string qualified_resource(std::string_view group, std::string_view resource);

} // namespace zoo::translate
