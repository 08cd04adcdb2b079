// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/drift.hpp"

#include "daemon/tenants/footprint.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace zoo::tenants {
namespace {

constexpr std::size_t k_id = 6; ///< bytes of a tenant's ID (api::validate_id)
constexpr std::string_view k_namespaces = "/api/v1/namespaces";

constexpr std::array k_kinds{
    RoomKind{k_namespaces, ""},
    RoomKind{"/apis/rbac.authorization.k8s.io/v1/rolebindings", upstream::k_tenant_binding},
    RoomKind{"/apis/rbac.authorization.k8s.io/v1/roles", k_authentication_reader},
    RoomKind{"/api/v1/configmaps", k_authentication},
    RoomKind{"/api/v1/services", k_service},
    RoomKind{"/apis/discovery.k8s.io/v1/endpointslices", k_service},
    RoomKind{"/apis/certificates.k8s.io/v1/certificatesigningrequests", ""},
};

bool stands_as_made(std::string_view id, std::string_view space) {
  const auto tree = translate::JsonTree::parse(space);
  return tree && tree->root()["metadata"]["labels"][k_tenant_label].string() == id;
}

} // namespace

std::span<const RoomKind> room_kinds() { return k_kinds; }

std::string_view spoiled(const RoomKind& kind, translate::EventType type,
                         const translate::ObjectKey& key, std::string_view object) {
  const std::string_view owned = key.name_space.empty() ? key.name : key.name_space;
  if (owned.size() <= k_id + 1 || owned[k_id] != '-') return "";
  const auto id = owned.substr(0, k_id);
  if (kind.path != k_namespaces) return id;
  const auto* const end = std::end(k_first_namespaces);
  const bool first = std::find(std::begin(k_first_namespaces), end, owned.substr(k_id + 1)) != end;
  if (!first) return ""; // the tenant's own to make and to delete
  return type == translate::EventType::deleted || !stands_as_made(id, object) ? id : "";
}

} // namespace zoo::tenants
