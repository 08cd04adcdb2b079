// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/node_dress.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/clusters/record.hpp"

#include <algorithm>
#include <array>

namespace zoo::clusters::sync {
namespace {

using kube::Quantity;
using nlohmann::json;

constexpr int k_kubelet_port = 10250;
/// Of a share, as Kubernetes names it: that of zood's own machine, since a share has no hosts.
#if defined(__aarch64__)
constexpr const char* k_architecture = "arm64";
#else
constexpr const char* k_architecture = "amd64";
#endif
/// What was taken from the host: the keys of its labels, its taints, and whether it was cordoned.
constexpr const char* k_host_keys = "virtual-cluster/from-host";
/// Those that kube-controller-manager makes of conditions and of spec.unschedulable.
constexpr std::array k_controllers_taints = {
    "node.kubernetes.io/not-ready",          "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",      "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",      "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/network-unavailable"};
/// What every Kubernetes knows of a kubelet: of more, the API server of an older cluster keeps
/// nothing, and it would be written again at each look.
constexpr std::array k_node_info = {
    "architecture",     "bootID",    "containerRuntimeVersion", "kernelVersion", "kubeletVersion",
    "kubeProxyVersion", "machineID", "operatingSystem",         "osImage",       "systemUUID"};
/// Of a host's labels: what is about its storage, its cloud or its kubelet's own work. Annotations
/// stay all of them: agents of the platform write addresses and arguments into these.
bool stays_on_host(const std::string& key) {
  return key.starts_with("kwok.x-k8s.io/") || key.starts_with("csi.volume.kubernetes.io/") ||
         key.starts_with("volumes.kubernetes.io/") || key.starts_with("kubeadm.") ||
         key.starts_with("node.alpha.kubernetes.io/") || key.find("kubezoo.io/") != key.npos;
}

json kept_labels_of(const json& host) {
  json out = json::object();
  for (const auto& [key, value] : kube::texts_at(host, "/metadata/labels"))
    if (!stays_on_host(key)) out[key] = value;
  return out;
}

json keys_of(const json& texts) {
  json out = json::array();
  for (const auto& each : texts.items())
    out.push_back(each.key());
  return out;
}

bool is_controllers(const json& taint) {
  const auto key = kube::text_at(taint, "/key");
  return std::find(k_controllers_taints.begin(), k_controllers_taints.end(), key) !=
         k_controllers_taints.end();
}

json taints_of(const json& node, bool of_controllers) {
  json out = json::array();
  for (const auto& each : kube::list_at(node, "/spec/taints"))
    if (is_controllers(each) == of_controllers) out.push_back(each);
  return out;
}

json quantities(const Capacity& all) {
  json out = json::object();
  for (const auto& [name, amount] : all)
    out[name] = amount.negative() ? "0" : amount.text();
  return out;
}

Capacity capacity_of(const json& node, const char* pointer) {
  Capacity out;
  for (const auto& [name, value] : kube::texts_at(node, pointer))
    if (const auto amount = Quantity::parse(value)) out.emplace(name, *amount);
  return out;
}

json condition(const char* type, const char* status, const char* reason, const char* message) {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", message}};
}

json base(const std::string& name, const char* sort) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"labels", {{k_node_label, sort}, {"kubernetes.io/hostname", name}}},
            {"annotations", json::object()}}},
          {"spec", json::object()},
          {"status",
           {{"daemonEndpoints", {{"kubeletEndpoint", {{"Port", k_kubelet_port}}}}},
            {"addresses", {{{"type", "Hostname"}, {"address", name}}}}}}};
}

} // namespace

Capacity share_capacity(const Capacity& promoted) {
  auto out = promoted;
  out.try_emplace("pods", Quantity::of(k_share_pods));
  return out;
}

std::vector<std::string> share_nodes(const std::string& cluster, unsigned count) {
  if (count <= 1) return {cluster};
  std::vector<std::string> out;
  for (unsigned number = 0; number < count; ++number)
    out.push_back(fmt::format("{}-{}", cluster, number));
  return out;
}

Capacity share_part(const Capacity& capacity, unsigned count, unsigned number) {
  if (count <= 1) return capacity;
  static const auto thousandth = Quantity::parse("1m").value_or(Quantity::of(1));
  Capacity out;
  for (const auto& [name, amount] : capacity) {
    const auto unit = name == "cpu" ? thousandth : Quantity::of(1);
    const auto part = amount.portion(1, count).floored(unit);
    auto rest = amount;
    for (unsigned other = 1; other < count; ++other)
      rest -= part;
    out.emplace(name, number == 0 ? rest : part);
  }
  return out;
}

json named_node(const json& host, const Capacity& allocatable) {
  const auto name = kube::text_at(host, "/metadata/name");
  auto out = base(name, "named");
  auto labels = kept_labels_of(host);
  const auto taints = taints_of(host, false);
  const json::json_pointer cordon("/spec/unschedulable");
  const bool cordoned = host.contains(cordon) && host.at(cordon) == true;
  const json taken = {{"labels", keys_of(labels)}, {"taints", taints}, {"unschedulable", cordoned}};
  out["metadata"]["annotations"][k_host_keys] = kube::text_of(taken);
  labels[k_node_label] = "named";
  out["metadata"]["labels"] = std::move(labels);
  if (!taints.empty()) out["spec"]["taints"] = taints;
  if (cordoned) out["spec"]["unschedulable"] = true;
  auto& status = out["status"];
  for (const auto& each : kube::list_at(host, "/status/addresses"))
    if (kube::text_at(each, "/type") != "Hostname") status["addresses"].push_back(each);
  auto capacity = capacity_of(host, "/status/capacity");
  status["capacity"] = quantities(capacity);
  status["allocatable"] = quantities(allocatable);
  status["conditions"] = json::array();
  for (const auto& each : kube::list_at(host, "/status/conditions"))
    status["conditions"].push_back(each);
  if (const json::json_pointer info("/status/nodeInfo");
      host.contains(info) && host.at(info).is_object())
    for (const char* key : k_node_info)
      if (const auto found = host.at(info).find(key); found != host.at(info).end())
        status["nodeInfo"][key] = *found;
  return out;
}

json lost_node(const std::string& name) {
  auto out = base(name, "named");
  out["status"]["conditions"] =
      json::array({condition("Ready", "False", "HostNodeGone", "there is no such node upstream")});
  return out;
}

json share_node(const std::string& name, const Capacity& capacity, const std::string& version) {
  auto out = base(name, "share");
  auto& labels = out["metadata"]["labels"];
  labels["kubernetes.io/os"] = labels["beta.kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = labels["beta.kubernetes.io/arch"] = k_architecture;
  auto& status = out["status"];
  status["capacity"] = status["allocatable"] = quantities(capacity);
  status["conditions"] = {
      condition("Ready", "True", "ShareReady", "it is a share of the upstream"),
      condition("MemoryPressure", "False", "ShareReady", "it is a share of the upstream"),
      condition("DiskPressure", "False", "ShareReady", "it is a share of the upstream"),
      condition("PIDPressure", "False", "ShareReady", "it is a share of the upstream")};
  status["nodeInfo"] = {{"kubeletVersion", "v" + version},
                        {"kubeProxyVersion", ""},
                        {"operatingSystem", "linux"},
                        {"architecture", k_architecture},
                        {"osImage", "a share of the upstream"},
                        {"kernelVersion", ""},
                        {"containerRuntimeVersion", ""},
                        {"machineID", ""},
                        {"systemUUID", ""},
                        {"bootID", ""}};
  return out;
}

Capacity room_on(const json& host, const Capacity& of_others, const Capacity& here,
                 const Capacity& share_left) {
  auto out = capacity_of(host, "/status/allocatable");
  const auto of = [](const Capacity& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? Quantity() : found->second;
  };
  for (auto& [name, amount] : out) {
    amount -= of(of_others, name);
    if (const auto left = share_left.find(name); left != share_left.end()) {
      auto rest = left->second;
      rest += of(here, name);
      amount = std::min(amount, rest);
    }
    if (amount.negative()) amount = Quantity();
  }
  return out;
}

json kept_node(const json& current, const json& wanted) {
  auto out = current;
  const auto annotations = kube::texts_at(current, "/metadata/annotations");
  const auto known = annotations.find(k_host_keys);
  const auto before_keys =
      known == annotations.end() ? json() : json::parse(known->second, nullptr, false);
  for (const char* texts : {"labels", "annotations"}) {
    auto& own = out["metadata"][texts];
    if (!own.is_object()) own = json::object();
    for (const auto& key : kube::list_at(before_keys, fmt::format("/{}", texts).c_str()))
      if (key.is_string()) own.erase(key.get<std::string>());
    own.update(wanted["metadata"][texts]);
    if (own.empty()) out["metadata"].erase(texts);
  }
  const bool leaving = annotations.contains(k_leaving_annotation);
  if (leaving) out["metadata"]["annotations"].erase(k_leaving_annotation);
  auto& spec = out["spec"];
  if (!spec.is_object()) spec = json::object();
  auto taints = taints_of(wanted, false);
  for (auto& each : taints_of(current, true))
    taints.push_back(std::move(each));
  // What a version before has written does not say what is the host's: all of it.
  const bool tells = !before_keys.is_object() || before_keys.contains("taints");
  const auto hosts = kube::list_at(before_keys, "/taints");
  const auto is_one_of = [](const json& list, const json& taint) {
    return std::any_of(list.begin(), list.end(), [&taint](const json& each) {
      return each.value("key", json()) == taint.value("key", json()) &&
             each.value("effect", json()) == taint.value("effect", json());
    });
  };
  for (const auto& each : taints_of(current, false))
    if (tells && !is_one_of(hosts, each) && !is_one_of(taints, each)) taints.push_back(each);
  // In what order they stand means nothing.
  auto before = kube::list_at(current, "/spec/taints"), after = taints;
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  if (before != after) spec["taints"] = std::move(taints);
  if (wanted["spec"].contains("unschedulable"))
    spec["unschedulable"] = true;
  else if (leaving || !tells ||
           (before_keys.is_object() && before_keys.value("unschedulable", json()) == true))
    spec.erase("unschedulable");
  if (spec.empty() && !current.contains("spec")) out.erase("spec");
  return out;
}

json status_change(const json& current, const json& wanted) {
  json change = json::object();
  const auto now = current.value("status", json::object());
  for (const auto& [key, value] : wanted["status"].items()) {
    if (key == "conditions") continue;
    if (now.value(key, json()) == value) continue;
    change[key] = value;
    // Of what a merge patch would keep.
    if (value.is_object() && now.contains(key) && now[key].is_object())
      for (const auto& [old, unused] : now[key].items())
        if (!value.contains(old)) change[key][old] = nullptr;
  }
  const auto own_of = [&](const json& type) {
    for (const auto& each : kube::list_at(current, "/status/conditions"))
      if (each.value("type", json()) == type) return each;
    return json();
  };
  bool other = false;
  json conditions = json::array();
  for (const auto& each : kube::list_at(wanted, "/status/conditions")) {
    auto next = each;
    const auto before = own_of(each.value("type", json()));
    const bool stays =
        before.is_object() && before.value("status", json()) == each.value("status", json());
    other = other || !stays || before.value("reason", json()) != each.value("reason", json()) ||
            before.value("message", json()) != each.value("message", json());
    next["lastTransitionTime"] = stays && before.contains("lastTransitionTime")
                                     ? before["lastTransitionTime"]
                                     : json(now_text());
    next["lastHeartbeatTime"] = now_text();
    conditions.push_back(std::move(next));
  }
  other = other || conditions.size() != kube::list_at(current, "/status/conditions").size();
  if (other) change["conditions"] = std::move(conditions);
  if (change.empty()) return nullptr;
  return {{"status", std::move(change)}};
}

} // namespace zoo::clusters::sync
