// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/kinds.hpp"

#include "daemon/virtuals/cells.hpp"
#include "daemon/virtuals/platform_kinds.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

constexpr std::string_view k_flow_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"PriorityLevel","type":"string","format":"","description":"The priority level that requests get.","priority":0},
{"name":"MatchingPrecedence","type":"string","format":"","description":"Lower numbers are tried first.","priority":0},
{"name":"DistinguisherMethod","type":"string","format":"","description":"How flows are told apart.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0},
{"name":"MissingPL","type":"string","format":"","description":"references a broken or non-existent PriorityLevelConfiguration","priority":0}])";

constexpr std::string_view k_level_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"Type","type":"string","format":"","description":"Exempt or Limited.","priority":0},
{"name":"NominalConcurrencyShares","type":"string","format":"","description":"Its share of the seats.","priority":0},
{"name":"Queues","type":"string","format":"","description":"How many queues it has.","priority":0},
{"name":"HandSize","type":"string","format":"","description":"How many queues a flow may use.","priority":0},
{"name":"QueueLengthLimit","type":"string","format":"","description":"How many requests a queue holds.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}])";

constexpr std::string_view k_service_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"Service","type":"string","format":"","description":"The reference to the service that hosts this API endpoint.","priority":0},
{"name":"Available","type":"string","format":"","description":"Whether this service is available.","priority":0},
{"name":"Age","type":"string","format":"","description":"Time since the object was created.","priority":0}])";

constexpr std::string_view k_component_columns = R"([
{"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0},
{"name":"Status","type":"string","format":"","description":"Status of the component conditions","priority":0},
{"name":"Message","type":"string","format":"","description":"Message of the component conditions","priority":0},
{"name":"Error","type":"string","format":"","description":"Error of the component conditions","priority":0}])";

constexpr std::array k_kinds{
    Kind{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false, true, true,
         k_flow_columns},
    Kind{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
         "PriorityLevelConfiguration", false, true, true, k_level_columns},
    Kind{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false, false, true,
         k_service_columns},
    Kind{"", "v1", "componentstatuses", "ComponentStatus", true, false, false, k_component_columns},
    Kind{"", "v1", "nodes", "Node", false, true, true, k_node_columns, true, false, true,
         "podCIDR podCIDRs providerID", "spec.unschedulable"},
    Kind{"networking.k8s.io", "v1", "ipaddresses", "IPAddress", false, true, false,
         k_address_columns, true, false, false, "*"},
    Kind{"networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", false, true, true,
         k_service_range_columns, true, false, false, "*"},
    Kind{"storage.k8s.io", "v1", "csidrivers", "CSIDriver", false, false, false, k_driver_columns,
         true, false, false, "attachRequired volumeLifecycleModes"},
    Kind{"storage.k8s.io", "v1", "csinodes", "CSINode", false, false, false, k_storage_node_columns,
         true, false, false, ""},
    Kind{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false, false, true,
         k_attachment_columns, true, false, false, "*"},
};

json condition(const json& object, std::string_view type) {
  const auto& conditions = member_of(member_of(object, "status"), "conditions");
  if (conditions.is_array()) {
    for (const auto& each : conditions)
      if (text_of(member_of(each, "type"), "") == type) return each;
  }
  return json::object();
}

json number(const json& value) { return value.is_number() ? value : json("<none>"); }

json flow_cells(const json& object) {
  const auto& spec = member_of(object, "spec");
  return {text_of(member_of(member_of(object, "metadata"), "name")),
          text_of(member_of(member_of(spec, "priorityLevelConfiguration"), "name"), ""),
          number(member_of(spec, "matchingPrecedence")),
          text_of(member_of(member_of(spec, "distinguisherMethod"), "type"), "<none>"),
          nullptr,
          text_of(member_of(condition(object, "Dangling"), "status"), "?")};
}

json level_cells(const json& object) {
  const auto& spec = member_of(object, "spec");
  const auto& limited = member_of(spec, "limited");
  const auto& queuing = member_of(member_of(limited, "limitResponse"), "queuing");
  return {text_of(member_of(member_of(object, "metadata"), "name")),
          text_of(member_of(spec, "type"), ""),
          number(member_of(limited, "nominalConcurrencyShares")),
          number(member_of(queuing, "queues")),
          number(member_of(queuing, "handSize")),
          number(member_of(queuing, "queueLengthLimit")),
          nullptr};
}

json service_cells(const json& object) {
  const auto& service = member_of(member_of(object, "spec"), "service");
  const auto available = condition(object, "Available");
  auto status = text_of(member_of(available, "status"), "Unknown");
  const auto reason = text_of(member_of(available, "reason"), "");
  if (status != "True" && !reason.empty()) status += " (" + reason + ")";
  return {text_of(member_of(member_of(object, "metadata"), "name")),
          service.is_object() ? text_of(member_of(service, "namespace"), "") + "/" +
                                    text_of(member_of(service, "name"), "")
                              : std::string("Local"),
          status, nullptr};
}

json component_cells(const json& object) {
  const auto& conditions = member_of(object, "conditions");
  const auto healthy =
      conditions.is_array() && !conditions.empty() ? conditions.front() : json::object();
  return {text_of(member_of(member_of(object, "metadata"), "name")),
          text_of(member_of(healthy, "status"), "") == "True" ? "Healthy" : "Unhealthy",
          text_of(member_of(healthy, "message"), ""), text_of(member_of(healthy, "error"), "")};
}

} // namespace

std::string Kind::api_version() const {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

std::string Kind::title() const {
  return group.empty() ? std::string(resource) : fmt::format("{}.{}", resource, group);
}

const Kind* find_kind(std::string_view group, std::string_view resource) {
  for (const auto& each : k_kinds)
    if (each.group == group && each.resource == resource) return &each;
  return nullptr;
}

json cells_of(const Kind& kind, const json& object) {
  if (kind.resource == "flowschemas") return flow_cells(object);
  if (kind.resource == "prioritylevelconfigurations") return level_cells(object);
  if (kind.resource == "apiservices") return service_cells(object);
  if (kind.beside) return platform_cells(kind.resource, object);
  return component_cells(object);
}

} // namespace zoo::virtuals
