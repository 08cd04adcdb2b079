// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

/// By what the upstream's kube-apiserver finds zood's aggregated door: an APIService that names a
/// Service, which has no selector but an EndpointSlice with zood's address. zood makes these
/// objects and takes them away; zooctl does the latter where zood is dead.
namespace zoo::api::aggregated {

inline constexpr std::string_view k_api_service = "v1alpha1.tenancy.kiosk.sh";
inline constexpr std::string_view k_namespace = "zoo-system";
inline constexpr std::string_view k_service = "zood-accounts";
/// The name that the certificate of the door carries: kube-apiserver looks for it.
inline constexpr std::string_view k_host = "zood-accounts.zoo-system.svc";

inline constexpr std::string_view k_api_services = "/apis/apiregistration.k8s.io/v1/apiservices";
inline constexpr std::string_view k_api_service_path =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1alpha1.tenancy.kiosk.sh";
inline constexpr std::string_view k_namespaces = "/api/v1/namespaces";
inline constexpr std::string_view k_namespace_path = "/api/v1/namespaces/zoo-system";
inline constexpr std::string_view k_services = "/api/v1/namespaces/zoo-system/services";
inline constexpr std::string_view k_service_path =
    "/api/v1/namespaces/zoo-system/services/zood-accounts";
inline constexpr std::string_view k_slices =
    "/apis/discovery.k8s.io/v1/namespaces/zoo-system/endpointslices";
/// The slices of the Service: one for each zood that serves.
inline constexpr std::string_view k_slices_of_service =
    "/apis/discovery.k8s.io/v1/namespaces/zoo-system/endpointslices"
    "?labelSelector=kubernetes.io%2Fservice-name%3Dzood-accounts&limit=500";

/// Annotation of namespace zoo-system: "off" keeps every zood from registering the door, over
/// restarts, until it is taken away.
inline constexpr std::string_view k_switch = "zoo.kubezoo.io/aggregated-door";
inline constexpr std::string_view k_off = "off";

/// Label of these objects with this value, as of all that zood installs for accounts.
inline constexpr std::string_view k_label = "zoo.kubezoo.io/managed";
inline constexpr std::string_view k_label_value = "true";

/// Is this APIService zood's? By its label, or since it leads to zood's Service.
bool is_own(const nlohmann::json& api_service);
/// Does this Namespace say that the door is off?
bool is_off(const nlohmann::json& name_space);

/// What upstream says of the door.
struct State {
  bool off = false;        ///< by the annotation
  bool registered = false; ///< the APIService is there, and zood's
  bool foreign = false;    ///< there is one that is another's
  /// Of the APIService's condition Available, as kube-apiserver wrote it; empty: there is none.
  std::string available, reason, message;
  std::vector<std::string> endpoints; ///< host:port
};
/// Of the objects as they were read; null: there is none. `slices`: an EndpointSliceList.
State read_state(const nlohmann::json* name_space, const nlohmann::json* api_service,
                 const nlohmann::json* slices);
/// {"off", "registered", "foreign", "available", "reason", "message", "endpoints"}.
nlohmann::json to_json(const State& state);

} // namespace zoo::api::aggregated
