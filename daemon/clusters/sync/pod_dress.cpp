// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_dress.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/mirror_kind.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr std::string_view k_owned_domain = "kubezoo.io/"; ///< zood's keys end so before the slash
constexpr std::array k_lists = {"initContainers", "containers", "ephemeralContainers"};

bool is_zoods(std::string_view key) { return key.find(k_owned_domain) != std::string_view::npos; }

/// What the field means in the cluster, where upstream has another value for it.
std::string field_of(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, const char*>, 4> rows{{
      {"metadata.namespace", k_own_namespace},
      {"metadata.uid", k_own_uid},
      {"spec.serviceAccountName", k_own_account},
      {"spec.nodeName", k_own_node},
  }};
  for (const auto& [field, annotation] : rows)
    if (path == field) return fmt::format("metadata.annotations['{}']", annotation);
  return path;
}

void turn_field(json& reference) {
  if (!reference.is_object()) return;
  const auto found = reference.find("fieldPath");
  if (found != reference.end() && found->is_string()) *found = field_of(found->get<std::string>());
}

/// The value under a key, or null: of what may not be an object at all.
json& at(json& object, const char* key) {
  static thread_local json none;
  none = nullptr;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

void dress_container(json& container, const std::set<std::string>& dropped) {
  for (auto& each : at(container, "env"))
    turn_field(at(at(each, "valueFrom"), "fieldRef"));
  auto& mounts = at(container, "volumeMounts");
  if (!mounts.is_array()) return;
  const auto gone = std::remove_if(mounts.begin(), mounts.end(), [&](const json& each) {
    return each.is_object() && dropped.contains(each.value("name", std::string()));
  });
  mounts.erase(gone, mounts.end());
  if (mounts.empty()) container.erase("volumeMounts");
}

/// What of a projected volume upstream would fill with authorities of its own.
bool is_upstreams(const json& source) {
  return source.is_object() &&
         (source.contains("clusterTrustBundle") || source.contains("podCertificate"));
}

/// Kubelets would tell containers of the upstream's API server.
void name_api(json& container, const std::string& address) {
  if (address.empty() || !container.is_object()) return;
  const bool six = address.find(':') != std::string::npos;
  const auto url = fmt::format("tcp://{}{}{}:443", six ? "[" : "", address, six ? "]" : "");
  const std::pair<const char*, std::string> wanted[] = {
      {"KUBERNETES_SERVICE_HOST", address},     {"KUBERNETES_SERVICE_PORT", "443"},
      {"KUBERNETES_SERVICE_PORT_HTTPS", "443"}, {"KUBERNETES_PORT", url},
      {"KUBERNETES_PORT_443_TCP", url},         {"KUBERNETES_PORT_443_TCP_PROTO", "tcp"},
      {"KUBERNETES_PORT_443_TCP_PORT", "443"},  {"KUBERNETES_PORT_443_TCP_ADDR", address}};
  const auto own = kube::list_at(container, "/env");
  json env = json::array();
  for (const auto& [name, value] : wanted) {
    const bool has = std::any_of(own.begin(), own.end(), [&](const json& each) {
      return each.is_object() && each.value("name", json()) == name;
    });
    if (!has) env.push_back({{"name", name}, {"value", value}});
  }
  env.insert(env.end(), own.begin(), own.end());
  container["env"] = std::move(env);
}

/// Takes what is upstream's out of the volumes; returns the names of those of which nothing is
/// left.
std::set<std::string> dress_volumes(json& spec, const std::string& pod) {
  std::set<std::string> dropped;
  auto& volumes = at(spec, "volumes");
  if (!volumes.is_array()) return dropped;
  for (auto& volume : volumes) {
    if (volume.is_object() && volume.contains("ephemeral")) {
      // The cluster's controllers make the claim, which is upstream by itself.
      volume = {{"name", volume.value("name", std::string())},
                {"persistentVolumeClaim",
                 {{"claimName", pod + "-" + volume.value("name", std::string())}}}};
      continue;
    }
    for (auto& item : at(at(volume, "downwardAPI"), "items"))
      turn_field(at(item, "fieldRef"));
    auto& sources = at(at(volume, "projected"), "sources");
    if (!sources.is_array()) continue;
    const auto name = volume.value("name", std::string());
    sources.erase(std::remove_if(sources.begin(), sources.end(), is_upstreams), sources.end());
    if (sources.empty()) {
      dropped.insert(name);
      continue;
    }
    for (auto& source : sources)
      for (auto& item : at(at(source, "downwardAPI"), "items"))
        turn_field(at(item, "fieldRef"));
  }
  volumes.erase(std::remove_if(volumes.begin(), volumes.end(),
                               [&](const json& volume) {
                                 return dropped.contains(volume.value("name", std::string()));
                               }),
                volumes.end());
  if (volumes.empty()) spec.erase("volumes");
  return dropped;
}

/// Which nodes: the one that the cluster has chosen, or any.
void dress_affinity(json& spec, const std::string& node, bool named_node) {
  json affinity = at(spec, "affinity").is_object() ? spec["affinity"] : json::object();
  affinity.erase("nodeAffinity");
  if (named_node) {
    affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"] = {
                {{"matchFields",
                  {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}}};
  } else if (auto& apart = at(affinity, "podAntiAffinity"); apart.is_object()) {
    // In the cluster all of them are on the one node of its share, and are so by its scheduler's
    // leave.
    auto& wishes = apart["preferredDuringSchedulingIgnoredDuringExecution"];
    if (!wishes.is_array()) wishes = json::array();
    for (const auto& term : at(apart, "requiredDuringSchedulingIgnoredDuringExecution"))
      wishes.push_back({{"weight", 100}, {"podAffinityTerm", term}});
    apart.erase("requiredDuringSchedulingIgnoredDuringExecution");
    if (wishes.empty()) affinity.erase("podAntiAffinity");
  }
  if (affinity.empty())
    spec.erase("affinity");
  else
    spec["affinity"] = std::move(affinity);
}

std::string hash_of(const Dressed& dressed) {
  const json all = {dressed.pod, dressed.annotations, dressed.labels};
  return crypto::hex_encode(crypto::view(crypto::sha256(kube::text_of(all)))).substr(0, 16);
}

} // namespace

json plain_texts(const json& object, const char* pointer) {
  json out = json::object();
  for (const auto& [key, value] : kube::texts_at(object, pointer))
    if (!is_zoods(key) && key != "kubernetes.io/config.mirror") out[key] = value;
  return out;
}

Result<Dressed> dress(const json& pod, const DressTerms& terms) {
  const auto uid = kube::text_at(pod, "/metadata/uid");
  const auto space = kube::text_at(pod, "/metadata/namespace");
  const auto name = kube::text_at(pod, "/metadata/name");
  const auto node = kube::text_at(pod, "/spec/nodeName");
  if (uid.empty() || space.empty() || name.empty() || node.empty())
    return fail(Code::internal, "it is no pod that is bound to a node");
  if (!kube::list_at(pod, "/spec/resourceClaims").empty())
    return fail(Code::invalid, "spec.resourceClaims: devices cannot be claimed in a virtual "
                               "cluster: ask for them by resources, such as nvidia.com/gpu");
  Dressed out;
  auto spec = pod["spec"];
  const auto account = kube::text_at(pod, "/spec/serviceAccountName");
  for (const char* key :
       {"nodeName", "schedulerName", "priority", "priorityClassName", "preemptionPolicy",
        "overhead", "nodeSelector", "topologySpreadConstraints", "serviceAccount",
        "ephemeralContainers", "schedulingGates"})
    spec.erase(key);
  const auto priority_class = kube::text_at(pod, "/spec/priorityClassName");
  const auto kept = static_cast<std::size_t>(translate::Overlay::priority_class);
  if (terms.shared && terms.shared->classes[kept].contains(priority_class))
    spec["priorityClassName"] = priority_class;
  each_reference(spec, [](std::string_view resource, json& referred) {
    const auto& kind = mirror_kinds()[static_cast<std::size_t>(mirror_kind_of(resource))];
    referred = name_there(kind, referred.get<std::string>());
  });
  ZOO_TRY_VOID(dress_tokens(spec, token_secret_name(uid)));
  const auto dropped = dress_volumes(spec, name);
  for (const char* list : k_lists)
    for (auto& container : at(spec, list)) {
      dress_container(container, dropped);
      name_api(container, terms.api_address);
    }
  dress_affinity(spec, node, terms.named_node);
  spec["serviceAccountName"] = "default";
  spec["automountServiceAccountToken"] = false;

  auto annotations = plain_texts(pod, "/metadata/annotations");
  annotations[k_own_namespace] = space;
  annotations[k_own_uid] = uid;
  annotations[k_own_account] = account.empty() ? "default" : account;
  annotations[k_own_node] = node;
  json keys = json::array();
  for (const auto& each : annotations.items())
    keys.push_back(each.key());
  out.pod = {{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata",
              {{"name", name},
               {"namespace", space},
               {"labels", plain_texts(pod, "/metadata/labels")},
               {"annotations", std::move(annotations)}}},
             {"spec", std::move(spec)}};
  out.labels = {{k_id_label, terms.id}};
  out.annotations = {
      {k_uid_annotation, uid}, {k_node_annotation, node}, {k_keys_annotation, kube::text_of(keys)}};
  out.hash = hash_of(out);
  out.annotations[k_hash_annotation] = out.hash;
  return out;
}

json dressed_again(json there, const Dressed& wish, std::string_view known) {
  auto& metadata = there["metadata"];
  metadata["labels"] = wish.pod["metadata"]["labels"];
  auto& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = json::object();
  const auto before = json::parse(known, nullptr, false);
  if (before.is_array())
    for (const auto& key : before)
      if (key.is_string()) annotations.erase(key.get<std::string>());
  annotations.update(wish.pod["metadata"]["annotations"]);
  auto& spec = there["spec"];
  const auto& wanted = wish.pod["spec"];
  for (const char* list : {"initContainers", "containers"}) {
    for (auto& container : at(spec, list)) {
      for (const auto& own : kube::list_at(wanted, fmt::format("/{}", list).c_str()))
        if (own.value("name", json()) == container.value("name", json()) && own.contains("image"))
          container["image"] = own["image"];
    }
  }
  for (const char* key :
       {"tolerations", "activeDeadlineSeconds", "terminationGracePeriodSeconds"}) {
    if (!wanted.contains(key)) continue;
    if (std::string_view(key) != "tolerations") {
      spec[key] = wanted[key];
      continue;
    }
    // Upstream has perhaps added some; it lets nobody take any away.
    auto& all = spec["tolerations"];
    if (!all.is_array()) all = json::array();
    for (const auto& each : wanted["tolerations"])
      if (std::find(all.begin(), all.end(), each) == all.end()) all.push_back(each);
  }
  return there;
}

} // namespace zoo::clusters::sync
