// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class ControlApi;
}

/// What of an upstream is one tenant's, found by range reads (DESIGN 6): names under `<id>-`, the
/// dash included. Blocking; on the thread whose ControlApi it is.
namespace zoo::tenants {

inline constexpr std::string_view k_tenant_label = "tenant.kubezoo.io/id";

/// Seconds that pods which nobody wants any more have to end, whatever their own grace is: those of
/// a namespace that goes, and those that a virtual cluster has no more.
inline constexpr std::int64_t k_longest_pod_grace = 300;

/// Whose a name of upstream's may be, by how it begins: "foofoo-x" -> "foofoo"; "": nobody's.
std::string_view id_of_name(std::string_view name);

struct Kind {
  std::string group, version, resource;
  bool namespaced = false;
  bool removable = false; ///< its objects can be listed, patched and deleted

  std::string collection(std::string_view name_space = {}) const;
  std::string title() const; ///< "storageclasses.storage.k8s.io"
};

/// Of what upstream serves the groups that are `wanted`, each (group, resource) once, in its
/// preferred version. Every tenant's definitions are groups: the others are passed over.
Result<std::vector<Kind>> discover(upstream::ControlApi& api,
                                   const std::function<bool(std::string_view group)>& wanted);

/// Of these, the built-in cluster-scoped kinds whose objects are a tenant's by the prefix of their
/// name. Not among them: nodes and other kinds of the platform, whatever their objects are called;
/// namespaces, CRDs and persistent volumes, which have rules of their own.
std::vector<Kind> private_cluster_kinds(const std::vector<Kind>& kinds);

/// The metadata of one object.
struct Found {
  std::string name, name_space, uid, resource_version;
  std::string label;  ///< the tenant label's value
  std::string inside; ///< that of label translate::k_inside; "": it has none
  bool labelled = false, terminating = false;
  std::vector<std::string> finalizers;
};
Found found_of(const nlohmann::json& object);

inline constexpr std::string_view k_metadata_list =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
inline constexpr std::int64_t k_latest = -1; ///< as the revision of a position

/// A continue token of our making: a list from `prefix` on, as of `revision`.
std::string position(std::string_view prefix, std::int64_t revision = k_latest);
/// Of a list that was read; k_latest if it does not say.
std::int64_t revision_of(const nlohmann::json& list);

/// Every object of a collection whose key (`<namespace>/<name>` on an all-namespaces path, else
/// the name) begins with `prefix`, at most `most` (0: all). Where the upstream refuses the
/// position, the whole collection is read and filtered.
Result<std::vector<Found>> range(upstream::ControlApi& api, std::string_view collection,
                                 std::string_view prefix, std::size_t most = 0,
                                 std::string_view field_selector = {});

/// The same with whole objects, handed over one by one. `selectors`: parameters of each request. A
/// page that is too large is asked for again with half as many objects.
Result<void> range_objects(upstream::ControlApi& api, std::string_view collection,
                           std::string_view prefix, std::size_t page, std::size_t most,
                           bool metadata_only, const kube::Query& selectors,
                           const std::function<void(const nlohmann::json&)>& each);

/// Does the upstream begin a list at a position of our making (DESIGN 6)? Tried on namespaces that
/// every cluster has, as upstream::RangeProbe does for the data path. Code::unavailable if it
/// cannot be asked.
Result<bool> takes_positions(upstream::ControlApi& api);

inline constexpr std::string_view k_crds =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// "things.example.com" -> "example.com", which begins with the owner's prefix; "": it has none.
std::string_view group_of_crd(std::string_view name);
/// Every CustomResourceDefinition that can be of one of these tenants: those with their label, and
/// those with no tenant's. Their keys are not contiguous.
Result<void> crds_of(upstream::ControlApi& api, const std::vector<std::string>& ids,
                     const std::function<void(const nlohmann::json&)>& each);

/// CustomResourceDefinitions whose group begins with `<id>-`.
Result<std::vector<Found>> tenant_crds(upstream::ControlApi& api, std::string_view id);

/// Can upstream list this kind for its controllers? It is asked for what nothing is labelled with,
/// as of any time: that comes from its memory, which it fills by reading all objects of the kind,
/// and it refuses (Code::too_many_requests) until it has been able to.
Result<void> list_nothing(upstream::ControlApi& api, const Kind& kind);

struct Volume {
  std::string name, uid, claim_space; ///< claim_space: its claim's namespace; "": unclaimed
  bool provisioned = false;           ///< made by a provisioner, which removes it with its claim
  bool terminating = false;
};
inline constexpr std::string_view k_volumes = "/api/v1/persistentvolumes";
using Names = std::set<std::string, std::less<>>;
/// PersistentVolumes claimed from a namespace `<id>-...`, or named so and claimed by nobody.
/// `claimed`: those that are claimed so, known a moment late: no others are read. Where they are
/// not known, or many, everybody's are.
Result<std::vector<Volume>> tenant_volumes(upstream::ControlApi& api, std::string_view id,
                                           const std::optional<Names>& claimed = std::nullopt);

} // namespace zoo::tenants
