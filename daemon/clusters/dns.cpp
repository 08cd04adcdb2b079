// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/dns.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/calls.hpp"

#include <array>

namespace zoo::clusters {
namespace {

using nlohmann::json;

constexpr const char* k_field_manager = "zood";
constexpr const char* k_label_value = "coredns";

struct Kind {
  std::string_view kind;
  const char* collection;
};
constexpr std::array<Kind, 6> k_kinds = {{
    {"ServiceAccount", "/api/v1/namespaces/kube-system/serviceaccounts"},
    {"ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles"},
    {"ClusterRoleBinding", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"},
    {"ConfigMap", "/api/v1/namespaces/kube-system/configmaps"},
    {"Deployment", "/apis/apps/v1/namespaces/kube-system/deployments"},
    {"Service", "/api/v1/namespaces/kube-system/services"},
}};

/// Names of a namespace as it is upstream, of pods and of Services, are answered as those of the
/// cluster's. A kubelet writes such a name into the /etc/hosts of a pod of a headless Service, and
/// so it is what the pod takes for its own full name (`hostname -f`).
constexpr const char* k_rewrite =
    "    rewrite stop name regex ^(.+)\\.{0}-([^.]+)\\.svc\\.cluster\\.local\\.?$ "
    "{{1}}.{{2}}.svc.cluster.local answer auto\n";
constexpr std::string_view k_rewrite_mark = "@REWRITE@", k_rewrite_begin = "    rewrite stop ";

/// As Kubernetes' own manifests have them (cluster/addons/dns/coredns, kubeadm's).
constexpr const char* k_objects = R"json([
{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "coredns", "namespace": "kube-system"}},
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "system:coredns"},
 "rules": [
  {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": ["list", "watch"]},
  {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}]},
{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "system:coredns"},
 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
 "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}]},
{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "coredns", "namespace": "kube-system"},
 "data": {"Corefile": ".:53 {\n    errors\n@REWRITE@    health {\n        lameduck 5s\n    }\n    ready\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n        pods insecure\n        fallthrough in-addr.arpa ip6.arpa\n        ttl 30\n    }\n    prometheus :9153\n    forward . /etc/resolv.conf {\n        max_concurrent 1000\n    }\n    cache 30\n    loop\n    reload\n    loadbalance\n}\n"}},
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "coredns", "namespace": "kube-system"},
 "spec": {
  "replicas": 1,
  "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
  "selector": {"matchLabels": {"k8s-app": "kube-dns"}},
  "template": {
   "metadata": {"labels": {"k8s-app": "kube-dns"}},
   "spec": {
    "priorityClassName": "system-cluster-critical",
    "serviceAccountName": "coredns",
    "dnsPolicy": "Default",
    "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
    "containers": [{
     "name": "coredns",
     "imagePullPolicy": "IfNotPresent",
     "args": ["-conf", "/etc/coredns/Corefile"],
     "resources": {"requests": {"cpu": "50m", "memory": "70Mi"}, "limits": {"memory": "170Mi"}},
     "ports": [
      {"name": "dns", "containerPort": 53, "protocol": "UDP"},
      {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
      {"name": "metrics", "containerPort": 9153, "protocol": "TCP"}],
     "livenessProbe": {"httpGet": {"path": "/health", "port": 8080, "scheme": "HTTP"},
      "initialDelaySeconds": 60, "timeoutSeconds": 5, "failureThreshold": 5},
     "readinessProbe": {"httpGet": {"path": "/ready", "port": 8181, "scheme": "HTTP"}, "periodSeconds": 5},
     "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
      "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}},
     "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": true}]}],
    "volumes": [{"name": "config", "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}}]}}}},
{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kube-dns", "namespace": "kube-system"},
 "spec": {"selector": {"k8s-app": "kube-dns"}, "ports": [
  {"name": "dns", "port": 53, "protocol": "UDP"},
  {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
  {"name": "metrics", "port": 9153, "protocol": "TCP"}]}}
])json";

bool is_ours(const json& object) {
  const auto labels = kube::texts_at(object, "/metadata/labels");
  const auto found = labels.find(k_dns_label);
  return found != labels.end() && found->second == k_label_value;
}

std::string wish_of(const json& object) {
  const auto annotations = kube::texts_at(object, "/metadata/annotations");
  const auto found = annotations.find(k_dns_wish);
  return found == annotations.end() ? std::string() : found->second;
}

std::string rules_of(const json& object) { return kube::text_at(object, "/data/Corefile"); }

/// Are the rules of CoreDNS what zood wants, or what a version before has written, which did not
/// rewrite? Else the cluster's administrators have changed them, and they stay.
bool is_written_by_zood(const json& there, const json& wanted) {
  auto before = rules_of(wanted);
  const auto begin = before.find(k_rewrite_begin);
  before.erase(begin, before.find('\n', begin) + 1 - begin);
  return rules_of(there) == rules_of(wanted) || rules_of(there) == before;
}

Result<void> keep(kube::KubeClient& api, const DnsObject& wanted) {
  const auto there = api.get(wanted.path());
  if (!there && there.error().code() == Code::not_found) {
    const auto made = api.create(wanted.collection, wanted.object);
    if (!made && made.error().code() != Code::already_exists) return fail(made.error());
    return {};
  }
  if (!there) return fail(there.error());
  const auto kind = kube::text_at(wanted.object, "/kind");
  if (!is_ours(*there))
    return fail(Code::conflict,
                "there is a {} {} in the cluster that zood has not made: remove it, or set "
                "spec.dns to none",
                kind, kube::text_at(wanted.object, "/metadata/name"));
  if (wish_of(*there) == wish_of(wanted.object)) return {};
  auto next = wanted.object;
  if (kind == "Deployment") next["spec"].erase("replicas"); // which anybody may have scaled
  if (kind == "ConfigMap" && !is_written_by_zood(*there, next))
    next["data"] = there->value("data", json::object());
  ZOO_TRY_VOID(api.apply(wanted.path(), next, k_field_manager, true));
  return {};
}

/// What was done needs no second call but one that looks: so the next look goes on.
Result<void> takes_long() {
  return fail(Code::timeout,
              "the API server of the cluster takes more than {} s for it: what is "
              "left comes with the next look",
              sync::WorkTime::k_most.count());
}

} // namespace

std::string DnsObject::path() const {
  return collection + kube::path({kube::text_at(object, "/metadata/name")});
}

std::vector<DnsObject> dns_objects(const std::string& id, const std::string& image) {
  std::vector<DnsObject> out;
  for (auto& object : json::parse(k_objects)) {
    const auto kind = kube::text_at(object, "/kind");
    if (kind == "Deployment") object["spec"]["template"]["spec"]["containers"][0]["image"] = image;
    if (kind == "ConfigMap") {
      auto& text = object["data"]["Corefile"].get_ref<std::string&>();
      text.replace(text.find(k_rewrite_mark), k_rewrite_mark.size(), fmt::format(k_rewrite, id));
    }
    auto& metadata = object["metadata"];
    metadata["labels"] = {{k_dns_label, k_label_value}, {"k8s-app", "kube-dns"}};
    if (kind == "Service") metadata["labels"]["kubernetes.io/name"] = "CoreDNS";
    metadata["annotations"] = {{k_dns_wish, crypto::short_digest(kube::text_of(object), 16)}};
    for (const auto& each : k_kinds)
      if (each.kind == kind) out.push_back({each.collection, std::move(object)});
  }
  return out;
}

Result<void> keep_dns(kube::KubeClient& api, const std::string& id, const std::string& image) {
  const sync::WorkTime time;
  for (const auto& each : dns_objects(id, image)) {
    if (time.over()) return takes_long();
    ZOO_TRY_VOID(keep(api, each));
  }
  return {};
}

Result<void> remove_dns(kube::KubeClient& api) {
  auto all = dns_objects("", "");
  const sync::WorkTime time;
  // What uses the others goes first.
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    if (time.over()) return takes_long();
    const auto there = api.get(each->path());
    if (!there && there.error().code() == Code::not_found) continue;
    if (!there) return fail(there.error());
    if (!is_ours(*there)) continue;
    const json options = {{"apiVersion", "v1"},
                          {"kind", "DeleteOptions"},
                          {"propagationPolicy", "Background"},
                          {"preconditions", {{"uid", kube::text_at(*there, "/metadata/uid")}}}};
    const auto gone = api.remove(each->path(), options);
    if (!gone && gone.error().code() != Code::not_found) return fail(gone.error());
  }
  return {};
}

} // namespace zoo::clusters
