// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/pod_dress.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/mirror_kind.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/share_fence.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_set>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;

constexpr std::string_view k_owned_domain = "kubezoo.io/"; ///< zood's keys end so before the slash
constexpr const char* k_domain = "cluster.local";          ///< of the Corefile (clusters/dns.cpp)
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

} // namespace

Result<void> check_new_pod(const json& pod) {
  for (const auto& want : token_wants(pod))
    if (want.audience.size() > k_longest_audience)
      return fail(Code::invalid,
                  "spec.volumes: an audience of a token has {} bytes at most, and this one has {}",
                  k_longest_audience, want.audience.size());
  for (const auto& volume : kube::list_at(pod, "/spec/volumes"))
    for (const auto& source : kube::list_at(volume, "/projected/sources")) {
      const json::json_pointer optional("/clusterTrustBundle/optional");
      const bool left_out = source.contains(optional) && source.at(optional) == true;
      if (is_upstreams(source) && !left_out)
        return fail(Code::invalid,
                    "spec.volumes: {} has a {}, which pods of a virtual cluster cannot have",
                    kube::text_at(volume, "/name"),
                    source.contains("podCertificate") ? "podCertificate" : "clusterTrustBundle");
    }
  return {};
}

namespace {

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

/// Newer Kubernetes writes what these keys choose into the selector when a pod is made, and refuses
/// a pod that comes with both (applyMatchLabelKeys of pkg/registry/core/pod): the cluster has done
/// it.
void drop_merged_keys(json& term) {
  std::set<std::string> chosen;
  const auto labels = kube::texts_at(term, "/labelSelector/matchLabels");
  for (const auto& [key, value] : labels)
    chosen.insert(key);
  for (const auto& each : kube::list_at(term, "/labelSelector/matchExpressions"))
    chosen.insert(kube::text_at(each, "/key"));
  for (const char* list : {"matchLabelKeys", "mismatchLabelKeys"}) {
    auto& keys = at(term, list);
    if (!keys.is_array()) continue;
    keys.erase(std::remove_if(keys.begin(), keys.end(),
                              [&](const json& key) {
                                return key.is_string() && chosen.contains(key.get<std::string>());
                              }),
               keys.end());
    if (keys.empty()) term.erase(list);
  }
}

/// Which nodes: the one that the cluster has chosen, or any. podAntiAffinity stays in both cases: a
/// pod that was deleted by force in the cluster may still run upstream.
void dress_affinity(json& spec, const std::string& node, bool named_node) {
  json affinity = at(spec, "affinity").is_object() ? spec["affinity"] : json::object();
  affinity.erase("nodeAffinity");
  if (named_node) {
    affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"] = {
                {{"matchFields",
                  {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {node}}}}}}};
    // The cluster's scheduler has judged it, perhaps by labels of Nodes that their hosts lack.
    affinity.erase("podAffinity");
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
  for (const char* sort : {"podAffinity", "podAntiAffinity"}) {
    for (auto& term : at(at(affinity, sort), "requiredDuringSchedulingIgnoredDuringExecution"))
      drop_merged_keys(term);
    for (auto& wish : at(at(affinity, sort), "preferredDuringSchedulingIgnoredDuringExecution"))
      drop_merged_keys(at(wish, "podAffinityTerm"));
  }
  if (affinity.empty())
    spec.erase("affinity");
  else
    spec["affinity"] = std::move(affinity);
}

/// In the cluster a share has no hosts over which pods could be spread: upstream does that, as well
/// as it can. Kubernetes takes one constraint for each topologyKey
/// (validateTopologySpreadConstraints of pkg/apis/core/validation), and minDomains of those alone
/// that must hold.
void dress_spread(json& spec, bool named_node) {
  std::set<std::string> keys;
  json out = json::array();
  for (auto& each : at(spec, "topologySpreadConstraints")) {
    if (named_node || !each.is_object() || !keys.insert(kube::text_at(each, "/topologyKey")).second)
      continue;
    each["whenUnsatisfiable"] = "ScheduleAnyway";
    each.erase("minDomains");
    drop_merged_keys(each);
    out.push_back(std::move(each));
  }
  spec.erase("topologySpreadConstraints");
  if (!out.empty()) spec["topologySpreadConstraints"] = std::move(out);
}

/// Taints would not do: a tenant's pod may tolerate all of them. Kubernetes takes one value for
/// each requirement of matchFields (ValidateNodeSelectorRequirement of pkg/apis/core/validation).
void keep_off(json& spec, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return;
  json all = json::array();
  for (const auto& node : nodes)
    all.push_back(
        {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", json::array({node})}});
  json term = {{"matchFields", std::move(all)}};
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = json::array({std::move(term)});
}

/// Of the pod's own list those that are not in `to` yet, while there is room.
void append(json& to, const json& own, const char* key, std::size_t most) {
  for (const auto& each : kube::list_at(own, key))
    if (to.size() < most && std::find(to.begin(), to.end(), each) == to.end()) to.push_back(each);
}

/// As kubelets have them for dnsPolicy ClusterFirst (pkg/kubelet/network/dns), with the limits of
/// validation for None: what of a host's search list they add, zood does not know.
void dress_dns(json& spec, const std::string& space, const std::string& dns) {
  const json pod = {{"spec", spec}};
  if (!asks_cluster_dns(pod)) {
    // With the host's network ClusterFirst means the host's names.
    if (spec.value("dnsPolicy", json()) == "ClusterFirst" || !spec.contains("dnsPolicy"))
      spec["dnsPolicy"] = "Default";
    return;
  }
  if (dns.empty()) {
    spec["dnsPolicy"] = "Default"; // as kubelets do that know of no DNS
    return;
  }
  const json own = spec.value("dnsConfig", json::object());
  json servers = json::array({dns});
  json searches = json::array(
      {fmt::format("{}.svc.{}", space, k_domain), fmt::format("svc.{}", k_domain), k_domain});
  json options = json::array({{{"name", "ndots"}, {"value", "5"}}});
  append(servers, own, "/nameservers", 3);
  append(searches, own, "/searches", 32);
  for (const auto& each : kube::list_at(own, "/options")) {
    const auto same = std::find_if(options.begin(), options.end(), [&](const json& option) {
      return option["name"] == each.value("name", json());
    });
    if (same == options.end())
      options.push_back(each);
    else
      *same = each;
  }
  spec["dnsPolicy"] = "None";
  spec["dnsConfig"] = {{"nameservers", std::move(servers)},
                       {"searches", std::move(searches)},
                       {"options", std::move(options)}};
}

/// Lists of which Kubernetes takes any number, and what a pod that goes upstream has at most: each
/// entry is compared with all of another list.
constexpr std::pair<const char*, std::size_t> k_longest[] = {
    {"readinessGates", 64},       {"tolerations", 256}, {"initContainers", 256},
    {"ephemeralContainers", 256}, {"containers", 256},  {"dnsConfig/options", 64},
};

Result<void> check_lists(const json& pod) {
  for (const auto& [list, most] : k_longest) {
    const auto count = kube::list_at(pod, fmt::format("/spec/{}", list).c_str()).size();
    if (count > most)
      return fail(Code::invalid,
                  "spec.{}: a pod of a virtual cluster has at most {} of them; this one has {}",
                  list, most, count);
  }
  return {};
}

/// Of the conditions that readiness gates ask for what is said there.
json gates_of(const json& pod) {
  std::unordered_set<std::string> asked;
  for (const auto& gate : kube::list_at(pod, "/spec/readinessGates"))
    asked.insert(kube::text_at(gate, "/conditionType"));
  asked.erase("");
  json out = json::array();
  for (const auto& each : kube::list_at(pod, "/status/conditions")) {
    auto type = kube::text_at(each, "/type");
    // Upstream has one condition of a type.
    if (asked.erase(type) == 0) continue;
    json own = {{"type", std::move(type)}};
    for (const char* key : {"status", "reason", "message"})
      if (each.contains(key)) own[key] = each[key];
    out.push_back(std::move(own));
  }
  return out;
}

const json* named(const json& list, const json& name, const char* key = "name") {
  for (const auto& each : list)
    if (each.is_object() && each.value(key, json()) == name) return &each;
  return nullptr;
}

std::string hash_of(const Dressed& dressed) {
  json all = json::array({dressed.pod, dressed.annotations, dressed.labels});
  if (dressed.has_later()) {
    all.push_back(dressed.ephemeral);
    all.push_back(dressed.gates);
  }
  return crypto::short_digest(kube::text_of(all), 16);
}

} // namespace

json plain_texts(const json& object, const char* pointer) {
  json out = json::object();
  for (const auto& [key, value] : kube::texts_at(object, pointer))
    if (!is_zoods(key) && key != "kubernetes.io/config.mirror") out[key] = value;
  return out;
}

std::string keys_text(const json& metadata) {
  json out = json::object();
  for (const char* texts : {"annotations", "labels"}) {
    auto& keys = out[texts] = json::array();
    for (const auto& each : metadata[texts].items())
      keys.push_back(each.key());
  }
  return kube::text_of(out);
}

void put_texts(json& metadata, const json& wish, std::string_view known) {
  const auto before = json::parse(known, nullptr, false);
  for (const char* texts : {"annotations", "labels"}) {
    auto& there = metadata[texts];
    if (!there.is_object()) there = json::object();
    // A list is of a version that wrote down annotations alone, and had all labels for itself.
    const bool of_labels = texts == std::string_view("labels");
    if (before.is_array() && of_labels) there.clear();
    const auto keys = before.is_array() && !of_labels
                          ? before
                          : kube::list_at(before, fmt::format("/{}", texts).c_str());
    for (const auto& key : keys)
      if (key.is_string()) there.erase(key.get<std::string>());
    there.update(wish[texts]);
  }
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
  ZOO_TRY_VOID(check_lists(pod));
  Dressed out;
  auto spec = pod["spec"];
  const auto account = kube::text_at(pod, "/spec/serviceAccountName");
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
  if (auto& later = at(spec, "ephemeralContainers"); later.is_array())
    out.ephemeral = std::move(later);
  out.gates = gates_of(pod);
  for (const char* key :
       {"nodeName", "schedulerName", "priority", "priorityClassName", "preemptionPolicy",
        "overhead", "nodeSelector", "serviceAccount", "ephemeralContainers", "schedulingGates"})
    spec.erase(key);
  const auto priority_class = kube::text_at(pod, "/spec/priorityClassName");
  const auto kept = static_cast<std::size_t>(translate::Overlay::priority_class);
  if (terms.shared && terms.shared->classes[kept].contains(priority_class))
    spec["priorityClassName"] = priority_class;
  dress_affinity(spec, node, terms.named_node);
  dress_spread(spec, terms.named_node);
  spec["serviceAccountName"] = "default";
  spec["automountServiceAccountToken"] = false;

  auto annotations = plain_texts(pod, "/metadata/annotations");
  annotations[k_own_namespace] = space;
  annotations[k_own_uid] = uid;
  annotations[k_own_account] = account.empty() ? "default" : account;
  annotations[k_own_node] = node;
  out.pod = {{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata",
              {{"name", name},
               {"namespace", space},
               {"labels", plain_texts(pod, "/metadata/labels")},
               {"annotations", std::move(annotations)}}},
             {"spec", std::move(spec)}};
  out.labels = {{k_id_label, terms.id}};
  out.annotations = {{k_uid_annotation, uid}, {k_node_annotation, node}};
  out.hash = hash_of(out);
  out.annotations[k_keys_annotation] = keys_text(out.pod["metadata"]);
  out.annotations[k_hash_annotation] = out.hash;
  dress_dns(out.pod["spec"], space, terms.dns);
  if (terms.fenced) dress_for_fence(out.pod["spec"]);
  if (!terms.named_node && terms.reserved) keep_off(out.pod["spec"], *terms.reserved);
  return out;
}

bool asks_cluster_dns(const json& pod) {
  const auto policy = kube::text_at(pod, "/spec/dnsPolicy");
  if (policy == "ClusterFirstWithHostNet") return true;
  const json::json_pointer of_host("/spec/hostNetwork");
  return (policy.empty() || policy == "ClusterFirst") &&
         !(pod.contains(of_host) && pod.at(of_host) == true);
}

json resources_change(const json& there, const json& wish) {
  json change = json::object();
  for (const char* list : {"initContainers", "containers"}) {
    const auto pointer = fmt::format("/spec/{}", list);
    for (const auto& own : kube::list_at(wish, pointer.c_str())) {
      const auto name = own.value("name", json());
      const auto* const now = named(kube::list_at(there, pointer.c_str()), name);
      if (now == nullptr) continue;
      json other = json::object();
      for (const char* part : {"requests", "limits"}) {
        const auto at_part = fmt::format("/resources/{}", part);
        const auto before = kube::texts_at(*now, at_part.c_str());
        for (const auto& [resource, amount] : kube::texts_at(own, at_part.c_str()))
          if (const auto found = before.find(resource);
              (found == before.end() && amount != "0") ||
              (found != before.end() && found->second != amount))
            other[part][resource] = amount;
      }
      if (other.empty()) continue;
      change["spec"][list].push_back({{"name", name}, {"resources", std::move(other)}});
    }
  }
  return change.empty() ? json() : change;
}

json new_ephemeral(const json& there, const Dressed& wish) {
  json out = json::array();
  const auto& now = kube::list_at(there, "/spec/ephemeralContainers");
  for (const auto& each : wish.ephemeral)
    if (named(now, each.value("name", json())) == nullptr) out.push_back(each);
  return out;
}

json other_gates(const json& there, const Dressed& wish) {
  json out = json::array();
  const auto& now = kube::list_at(there, "/status/conditions");
  for (const auto& each : wish.gates) {
    const auto* const before = named(now, each["type"], "type");
    const auto same = [&](const char* key) {
      return before->value(key, json("")) == each.value(key, json(""));
    };
    if (before == nullptr || !same("status") || !same("reason") || !same("message"))
      out.push_back(each);
  }
  return out;
}

json dressed_again(json there, const Dressed& wish, std::string_view known) {
  put_texts(there["metadata"], wish.pod["metadata"], known);
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
