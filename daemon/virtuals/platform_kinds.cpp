// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/platform_kinds.hpp"

#include "daemon/virtuals/cells.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

bool flag(const json& value, bool otherwise) {
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

void append(std::string& out, std::string_view word) {
  if (!out.empty()) out += ',';
  out += word;
}

std::string joined(const json& list, std::string_view member = {}) {
  std::string out;
  if (list.is_array())
    for (const auto& each : list)
      append(out, text_of(member.empty() ? each : member_of(each, member)));
  return out;
}

std::string node_state(const json& object) {
  std::string out;
  const auto& conditions = member_of(member_of(object, "status"), "conditions");
  if (conditions.is_array())
    for (const auto& each : conditions)
      if (text_of(member_of(each, "type")) == "Ready")
        out = text_of(member_of(each, "status")) == "True" ? "Ready" : "NotReady";
  if (out.empty()) out = "Unknown";
  if (flag(member_of(member_of(object, "spec"), "unschedulable"), false))
    append(out, "SchedulingDisabled");
  return out;
}

std::string node_roles(const json& object) {
  constexpr std::string_view k_prefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  const auto& labels = member_of(member_of(object, "metadata"), "labels");
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) {
      if (key.size() > k_prefix.size() && key.starts_with(k_prefix))
        roles.insert(key.substr(k_prefix.size()));
      if (key == "kubernetes.io/role" && !text_of(value).empty()) roles.insert(text_of(value));
    }
  }
  std::string out;
  for (const auto& each : roles)
    append(out, each);
  return out.empty() ? "<none>" : out;
}

std::string address(const json& object, std::string_view type) {
  const auto& addresses = member_of(member_of(object, "status"), "addresses");
  if (addresses.is_array())
    for (const auto& each : addresses)
      if (text_of(member_of(each, "type")) == type) return text_of(member_of(each, "address"));
  return "<none>";
}

json node_cells(const json& object, const json& name) {
  const auto& info = member_of(member_of(object, "status"), "nodeInfo");
  auto kernel = text_of(member_of(info, "kernelVersion"), "<unknown>");
  const auto architecture = text_of(member_of(info, "architecture"));
  if (!architecture.empty()) kernel += " (" + architecture + ")";
  return {name,
          node_state(object),
          node_roles(object),
          nullptr,
          text_of(member_of(info, "kubeletVersion")),
          address(object, "InternalIP"),
          address(object, "ExternalIP"),
          text_of(member_of(info, "osImage"), "<unknown>"),
          kernel,
          text_of(member_of(info, "containerRuntimeVersion"), "<unknown>")};
}

json address_cells(const json& object, const json& name) {
  const auto& parent = member_of(member_of(object, "spec"), "parentRef");
  std::string shown = "<none>";
  if (parent.is_object()) {
    shown = text_of(member_of(parent, "resource"));
    if (const auto group = text_of(member_of(parent, "group")); !group.empty())
      shown += "." + group;
    std::transform(shown.begin(), shown.end(), shown.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (const auto space = text_of(member_of(parent, "namespace")); !space.empty())
      shown += "/" + space;
    shown += "/" + text_of(member_of(parent, "name"));
  }
  return {name, shown, nullptr};
}

json driver_cells(const json& object, const json& name) {
  const auto& spec = member_of(object, "spec");
  const auto& tokens = member_of(spec, "tokenRequests");
  const auto modes = joined(member_of(spec, "volumeLifecycleModes"));
  return {name,
          flag(member_of(spec, "attachRequired"), true),
          flag(member_of(spec, "podInfoOnMount"), false),
          flag(member_of(spec, "storageCapacity"), false),
          tokens.is_array() ? joined(tokens, "audience") : std::string("<unset>"),
          flag(member_of(spec, "requiresRepublish"), false),
          modes.empty() ? std::string("<none>") : modes,
          nullptr};
}

} // namespace

json platform_cells(std::string_view resource, const json& object) {
  const auto name = text_of(member_of(member_of(object, "metadata"), "name"));
  const auto& spec = member_of(object, "spec");
  if (resource == "nodes") return node_cells(object, name);
  if (resource == "ipaddresses") return address_cells(object, name);
  if (resource == "csidrivers") return driver_cells(object, name);
  if (resource == "servicecidrs") return {name, joined(member_of(spec, "cidrs")), nullptr};
  if (resource == "csinodes") {
    const auto& drivers = member_of(spec, "drivers");
    return {name, drivers.is_array() ? drivers.size() : std::size_t{0}, nullptr};
  }
  return {name,
          text_of(member_of(spec, "attacher")),
          text_of(member_of(member_of(spec, "source"), "persistentVolumeName")),
          text_of(member_of(spec, "nodeName")),
          flag(member_of(member_of(object, "status"), "attached"), false),
          nullptr};
}

} // namespace zoo::virtuals
