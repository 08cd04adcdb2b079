// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/drift.hpp"

#include "daemon/tenants/footprint.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <array>

namespace zoo::tenants {
namespace {

constexpr std::string_view k_namespaces = "/api/v1/namespaces";

constexpr std::array k_kinds{
    RoomKind{k_namespaces, ""},
    RoomKind{"/apis/rbac.authorization.k8s.io/v1/rolebindings", upstream::k_tenant_binding},
    RoomKind{"/apis/rbac.authorization.k8s.io/v1/roles", k_authentication_reader},
    RoomKind{"/api/v1/configmaps", k_authentication},
    RoomKind{"/api/v1/configmaps", translate::k_root_ca},
    RoomKind{"/apis/networking.k8s.io/v1/networkpolicies", translate::k_network_baseline},
    RoomKind{"/api/v1/services", k_service},
    RoomKind{"/api/v1/endpoints", k_service},
    RoomKind{"/apis/discovery.k8s.io/v1/endpointslices", k_service},
    RoomKind{"/apis/certificates.k8s.io/v1/certificatesigningrequests", ""},
};

} // namespace

std::span<const RoomKind> room_kinds() { return k_kinds; }

std::string_view spoiled(const RoomKind& kind, translate::EventType type,
                         const translate::ObjectKey& key) {
  // One more of these changes nothing; one more namespace may lack its binding.
  if (type == translate::EventType::added && kind.path != k_namespaces) return "";
  return id_of_name(key.name_space.empty() ? key.name : key.name_space);
}

} // namespace zoo::tenants
