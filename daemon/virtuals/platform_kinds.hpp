// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string_view>

/// How the kinds that stand beside the platform's own objects look in a Table: columns and cells as
/// Kubernetes writes them (pkg/printers/internalversion/printers.go), since rows of both come in
/// one Table. Constant; any thread.
namespace zoo::virtuals {

inline constexpr std::string_view k_node_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"Status","type":"string","format":"","description":"The status of the node","priority":0},
{"name":"Roles","type":"string","format":"","description":"The roles of the node","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0},
{"name":"Version","type":"string","format":"","description":"Kubelet version reported by the node.","priority":0},
{"name":"Internal-IP","type":"string","format":"","description":"An address of the node.","priority":1},
{"name":"External-IP","type":"string","format":"","description":"An address of the node.","priority":1},
{"name":"OS-Image","type":"string","format":"","description":"Operating system of the node.","priority":1},
{"name":"Kernel-Version","type":"string","format":"","description":"Kernel of the node.","priority":1},
{"name":"Container-Runtime","type":"string","format":"","description":"Container runtime of the node.","priority":1}])";

inline constexpr std::string_view k_address_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"ParentRef","type":"string","format":"","description":"What the address is attached to.","priority":0}])";

inline constexpr std::string_view k_service_range_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"CIDRs","type":"string","format":"","description":"The ranges that addresses are taken from.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}])";

inline constexpr std::string_view k_driver_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"AttachRequired","type":"boolean","format":"","description":"Whether volumes are attached.","priority":0},
{"name":"PodInfoOnMount","type":"boolean","format":"","description":"Whether the driver wants to know the pod.","priority":0},
{"name":"StorageCapacity","type":"boolean","format":"","description":"Whether capacity is considered.","priority":0},
{"name":"TokenRequests","type":"string","format":"","description":"Audiences of the tokens that it gets.","priority":0},
{"name":"RequiresRepublish","type":"boolean","format":"","description":"Whether volumes are published again and again.","priority":0},
{"name":"Modes","type":"string","format":"","description":"Lifecycle modes of its volumes.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}])";

inline constexpr std::string_view k_storage_node_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"Drivers","type":"integer","format":"","description":"How many drivers are registered on the node.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}])";

inline constexpr std::string_view k_attachment_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"Attacher","type":"string","format":"name","description":"The driver that attaches.","priority":0},
{"name":"PV","type":"string","format":"","description":"The volume.","priority":0},
{"name":"Node","type":"string","format":"","description":"The node.","priority":0},
{"name":"Attached","type":"boolean","format":"","description":"Whether it is attached.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}])";

/// As cells_of() (kinds.hpp), of these kinds.
nlohmann::json platform_cells(std::string_view resource, const nlohmann::json& object);

} // namespace zoo::virtuals
