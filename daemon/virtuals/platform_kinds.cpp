// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/platform_kinds.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

const json& at(const json& object, std::string_view member) {
  static const json none;
  const auto found = object.is_object() ? object.find(member) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string text(const json& value, std::string_view otherwise = "") {
  return value.is_string() && !value.get_ref<const std::string&>().empty()
             ? value.get<std::string>()
             : std::string(otherwise);
}

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
      append(out, text(member.empty() ? each : at(each, member)));
  return out;
}

std::string node_state(const json& object) {
  std::string out;
  const auto& conditions = at(at(object, "status"), "conditions");
  if (conditions.is_array())
    for (const auto& each : conditions)
      if (text(at(each, "type")) == "Ready")
        out = text(at(each, "status")) == "True" ? "Ready" : "NotReady";
  if (out.empty()) out = "Unknown";
  if (flag(at(at(object, "spec"), "unschedulable"), false)) append(out, "SchedulingDisabled");
  return out;
}

std::string node_roles(const json& object) {
  constexpr std::string_view k_prefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  const auto& labels = at(at(object, "metadata"), "labels");
  if (labels.is_object()) {
    for (const auto& [key, value] : labels.items()) {
      if (key.size() > k_prefix.size() && key.starts_with(k_prefix))
        roles.insert(key.substr(k_prefix.size()));
      if (key == "kubernetes.io/role" && !text(value).empty()) roles.insert(text(value));
    }
  }
  std::string out;
  for (const auto& each : roles)
    append(out, each);
  return out.empty() ? "<none>" : out;
}

std::string address(const json& object, std::string_view type) {
  const auto& addresses = at(at(object, "status"), "addresses");
  if (addresses.is_array())
    for (const auto& each : addresses)
      if (text(at(each, "type")) == type) return text(at(each, "address"));
  return "<none>";
}

json node_cells(const json& object, const json& name) {
  const auto& info = at(at(object, "status"), "nodeInfo");
  auto kernel = text(at(info, "kernelVersion"), "<unknown>");
  const auto architecture = text(at(info, "architecture"));
  if (!architecture.empty()) kernel += " (" + architecture + ")";
  return {name,
          node_state(object),
          node_roles(object),
          nullptr,
          text(at(info, "kubeletVersion")),
          address(object, "InternalIP"),
          address(object, "ExternalIP"),
          text(at(info, "osImage"), "<unknown>"),
          kernel,
          text(at(info, "containerRuntimeVersion"), "<unknown>")};
}

json address_cells(const json& object, const json& name) {
  const auto& parent = at(at(object, "spec"), "parentRef");
  std::string shown = "<none>";
  if (parent.is_object()) {
    shown = text(at(parent, "resource"));
    if (const auto group = text(at(parent, "group")); !group.empty()) shown += "." + group;
    std::transform(shown.begin(), shown.end(), shown.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (const auto space = text(at(parent, "namespace")); !space.empty()) shown += "/" + space;
    shown += "/" + text(at(parent, "name"));
  }
  return {name, shown, nullptr};
}

json driver_cells(const json& object, const json& name) {
  const auto& spec = at(object, "spec");
  const auto& tokens = at(spec, "tokenRequests");
  const auto modes = joined(at(spec, "volumeLifecycleModes"));
  return {name,
          flag(at(spec, "attachRequired"), true),
          flag(at(spec, "podInfoOnMount"), false),
          flag(at(spec, "storageCapacity"), false),
          tokens.is_array() ? joined(tokens, "audience") : std::string("<unset>"),
          flag(at(spec, "requiresRepublish"), false),
          modes.empty() ? std::string("<none>") : modes,
          nullptr};
}

} // namespace

json platform_cells(std::string_view resource, const json& object) {
  const auto& name = at(at(object, "metadata"), "name");
  const auto& spec = at(object, "spec");
  if (resource == "nodes") return node_cells(object, name);
  if (resource == "ipaddresses") return address_cells(object, name);
  if (resource == "csidrivers") return driver_cells(object, name);
  if (resource == "servicecidrs") return {name, joined(at(spec, "cidrs")), nullptr};
  if (resource == "csinodes") {
    const auto& drivers = at(spec, "drivers");
    return {name, drivers.is_array() ? drivers.size() : std::size_t{0}, nullptr};
  }
  return {name,
          text(at(spec, "attacher")),
          text(at(at(spec, "source"), "persistentVolumeName")),
          text(at(spec, "nodeName")),
          flag(at(at(object, "status"), "attached"), false),
          nullptr};
}

} // namespace zoo::virtuals
