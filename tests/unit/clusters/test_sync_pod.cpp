// SPDX-License-Identifier: Apache-2.0
// Pods of a virtual cluster as they are upstream, and what of upstream's they show; with the cases
// of Virtual Cluster (CAPN) under their names where they apply.
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/amounts.hpp"
#include "daemon/clusters/sync/ledger.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_status.hpp"
#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/share_fence.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace zoo;
using namespace zoo::clusters::sync;
using nlohmann::json;
using zoo::clusters::k_uid_annotation;

namespace {

json pod_of(const char* spec = "{}", const char* metadata = "{}") {
  json out = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", "web"}, {"namespace", "default"}, {"uid", "v1"}}},
              {"spec", {{"nodeName", "n1"}, {"containers", {{{"name", "c"}, {"image", "i:1"}}}}}}};
  out["spec"].update(json::parse(spec));
  out["metadata"].update(json::parse(metadata));
  return out;
}

DressTerms terms_of(bool named_node) {
  DressTerms out;
  out.id = "clu5t3";
  out.named_node = named_node;
  return out;
}

Dressed dressed(const json& pod, bool named_node = true) {
  auto out = dress(pod, terms_of(named_node));
  REQUIRE(out);
  return *std::move(out);
}

translate::Mapping mapping() {
  return {"clu5t3", std::make_shared<const translate::SharedNames>()};
}

kube::Quantity q(const char* text) {
  return kube::Quantity::parse(text).value_or(kube::Quantity());
}

} // namespace

TEST_CASE("new Pod: what upstream sets itself, or the cluster has decided, is left out") {
  const auto wish = dressed(pod_of(
      R"({"schedulerName":"x","priority":5,"priorityClassName":"high","preemptionPolicy":"Never","overhead":{"cpu":"1"},
          "nodeSelector":{"a":"b"},"topologySpreadConstraints":[{}],"serviceAccount":"me","serviceAccountName":"me",
          "tolerations":[{"key":"k","operator":"Exists"}],"restartPolicy":"Always"})",
      R"({"resourceVersion":"7","generateName":"web-","ownerReferences":[{"name":"rs"}],"finalizers":["x/y"],
          "managedFields":[{}],"labels":{"app":"web","zoo.kubezoo.io/x":"y"},"annotations":{"a":"1","zoo.kubezoo.io/b":"2"}})"));
  const auto& spec = wish.pod["spec"];
  for (const char* key :
       {"nodeName", "schedulerName", "priority", "priorityClassName", "overhead",
        "preemptionPolicy", "nodeSelector", "topologySpreadConstraints", "serviceAccount"})
    CHECK_FALSE(spec.contains(key));
  CHECK(spec["serviceAccountName"] == "default");
  CHECK(spec["automountServiceAccountToken"] == false);
  CHECK(spec["tolerations"].size() == 1);
  CHECK(spec["restartPolicy"] == "Always");
  const auto& metadata = wish.pod["metadata"];
  CHECK(metadata.size() == 4);
  CHECK(metadata["labels"] == json{{"app", "web"}});
  CHECK(metadata["annotations"]["a"] == "1");
  CHECK_FALSE(metadata["annotations"].contains("zoo.kubezoo.io/b"));
  CHECK(wish.annotations[k_uid_annotation] == "v1");
  CHECK(wish.annotations[k_node_annotation] == "n1");
  CHECK(wish.labels[k_id_label] == "clu5t3");
}

TEST_CASE("a pod is held to its node by an affinity, which upstream's scheduler looks at") {
  const auto wish = dressed(pod_of(
      R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}},
          "podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"a-label-of-the-cluster"}]},
          "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}})"));
  const auto& affinity = wish.pod["spec"]["affinity"];
  CHECK(
      affinity["nodeAffinity"].dump() ==
      R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}})");
  CHECK(affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"].size() == 1);
  CHECK_FALSE(affinity.contains("podAffinity"));
}

TEST_CASE("what the cluster has written into selectors is not asked for a second time") {
  const auto wish = dressed(pod_of(R"({"topologySpreadConstraints":[{"topologyKey":"a","maxSkew":1,
      "matchLabelKeys":["hash","other"],"labelSelector":{"matchExpressions":[{"key":"hash","operator":"In","values":["1"]}]}}],
    "affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":
      {"topologyKey":"a","mismatchLabelKeys":["app"],"labelSelector":{"matchLabels":{"app":"x"}}}}]}}})"),
                            false);
  const auto& spec = wish.pod["spec"];
  CHECK(spec["topologySpreadConstraints"][0]["matchLabelKeys"] == json{"other"});
  const auto& wishes =
      spec["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
  CHECK_FALSE(wishes[0]["podAffinityTerm"].contains("mismatchLabelKeys"));
}

TEST_CASE("pods of a share are spread over hosts where upstream can") {
  const auto pod = pod_of(R"({"topologySpreadConstraints":[
    {"topologyKey":"kubernetes.io/hostname","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","minDomains":2,
     "labelSelector":{"matchLabels":{"app":"web"}}},
    {"topologyKey":"kubernetes.io/hostname","maxSkew":2,"whenUnsatisfiable":"ScheduleAnyway"}]})");
  CHECK(
      dressed(pod, false).pod["spec"]["topologySpreadConstraints"].dump() ==
      R"([{"labelSelector":{"matchLabels":{"app":"web"}},"maxSkew":1,"topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"ScheduleAnyway"}])");
  CHECK_FALSE(dressed(pod).pod["spec"].contains("topologySpreadConstraints"));
}

TEST_CASE("a pod of a share goes where upstream wants, apart from others where it can") {
  const auto wish = dressed(
      pod_of(
          R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}})"),
      false);
  const auto& affinity = wish.pod["spec"]["affinity"];
  CHECK_FALSE(affinity.contains("nodeAffinity"));
  CHECK(
      affinity["podAntiAffinity"].dump() ==
      R"({"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"topologyKey":"zone"},"weight":100}]})");
  CHECK_FALSE(dressed(pod_of(), false).pod["spec"].contains("affinity"));
}

TEST_CASE("a pod of a share keeps off nodes that others have alone") {
  auto terms = terms_of(false);
  terms.reserved = std::make_shared<const std::vector<std::string>>(2, "n7");
  const auto wish = dress(pod_of(), terms);
  REQUIRE(wish);
  CHECK(
      wish->pod["spec"]["affinity"].dump() ==
      R"({"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["n7"]},{"key":"metadata.name","operator":"NotIn","values":["n7"]}]}]}}})");
  // Upstream lets nobody change it: a pod that is there is not written anew for it.
  CHECK(wish->hash == dressed(pod_of(), false).hash);
  terms.named_node = true;
  CHECK(dress(pod_of(), terms)->pod["spec"]["affinity"].dump().find("NotIn") == std::string::npos);
}

TEST_CASE(
    "lists without an end go nowhere: each entry would be compared with all of another list") {
  auto pod = pod_of();
  for (int i = 0; i < 64; ++i)
    pod["spec"]["readinessGates"].push_back({{"conditionType", fmt::format("x/{}", i)}});
  CHECK(dress(pod, terms_of(true)));
  pod["spec"]["readinessGates"].push_back({{"conditionType", "x/64"}});
  const auto refused = dress(pod, terms_of(true));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::invalid);
  CHECK(
      refused.error().message().find("spec.readinessGates: a pod of a virtual cluster has at most "
                                     "64 of them; this one has 65") != std::string::npos);
}

TEST_CASE("no credential of the upstream comes into a pod") {
  const auto wish = dressed(pod_of(R"({
    "volumes":[{"name":"kube-api-access-x","projected":{"sources":[{"serviceAccountToken":{"path":"token"}},
                  {"configMap":{"name":"kube-root-ca.crt"}},{"downwardAPI":{"items":[]}}]}},
               {"name":"own","projected":{"sources":[{"serviceAccountToken":{"path":"t"}},{"configMap":{"name":"c"}}]}},
               {"name":"only","projected":{"sources":[{"clusterTrustBundle":{"name":"b","optional":true}}]}},
               {"name":"data","emptyDir":{}}],
    "containers":[{"name":"c","volumeMounts":[{"name":"kube-api-access-x","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"},
                  {"name":"own","mountPath":"/own"},{"name":"only","mountPath":"/only"},{"name":"data","mountPath":"/data"}]}],
    "initContainers":[{"name":"i","volumeMounts":[{"name":"only","mountPath":"/only"}]}]})"));
  const auto& spec = wish.pod["spec"];
  CHECK(spec["volumes"].size() == 3);
  CHECK(
      spec["volumes"][0]["projected"]["sources"].dump() ==
      R"([{"secret":{"items":[{"key":"token-0","path":"token"}],"name":"zoo-token-v1"}},{"configMap":{"name":"kube-root-ca.crt.cluster"}},{"downwardAPI":{"items":[]}}])");
  CHECK(
      spec["volumes"][1].dump() ==
      R"({"name":"own","projected":{"sources":[{"secret":{"items":[{"key":"token-1","path":"t"}],"name":"zoo-token-v1"}},{"configMap":{"name":"c"}}]}})");
  CHECK(spec["containers"][0]["volumeMounts"].size() == 3);
  CHECK_FALSE(spec["initContainers"][0].contains("volumeMounts"));
  CHECK(kube::text_of(wish.pod).find("erviceAccountToken\":{") == std::string::npos);
}

TEST_CASE("what containers would miss is refused, and not left out") {
  const auto refused = [](const std::string& source) {
    const auto good = check_new_pod(pod_of(
        fmt::format(R"({{"volumes":[{{"name":"v","projected":{{"sources":[{}]}}}}]}})", source)
            .c_str()));
    return good ? std::string() : good.error().message();
  };
  CHECK(refused(R"({"podCertificate":{"signerName":"x"}})") ==
        "spec.volumes: v has a podCertificate, which pods of a virtual cluster cannot have");
  CHECK(refused(R"({"clusterTrustBundle":{"name":"b"}})") ==
        "spec.volumes: v has a clusterTrustBundle, which pods of a virtual cluster cannot have");
  CHECK(refused(R"({"clusterTrustBundle":{"name":"b","optional":true}})").empty());
  const auto token = [](std::size_t bytes) {
    return fmt::format(R"({{"serviceAccountToken":{{"audience":"{}"}}}})", std::string(bytes, 'a'));
  };
  CHECK(refused(token(k_longest_audience)).empty());
  CHECK(refused(token(k_longest_audience + 1)) ==
        "spec.volumes: an audience of a token has 1024 bytes at most, and this one has 1025");
}

TEST_CASE("containers are told of the cluster's API server, unless they say another thing") {
  auto terms = terms_of(true);
  terms.api_address = "10.0.0.9";
  const auto wish = dress(
      pod_of(R"j({"containers":[{"name":"c","env":[{"name":"KUBERNETES_SERVICE_PORT","value":"1"},
              {"name":"URL","value":"https://$(KUBERNETES_SERVICE_HOST)"}]}]})j"),
      terms);
  REQUIRE(wish);
  const auto& env = wish->pod["spec"]["containers"][0]["env"];
  REQUIRE(env.size() == 9);
  CHECK(env[0].dump() == R"({"name":"KUBERNETES_SERVICE_HOST","value":"10.0.0.9"})");
  CHECK(env[7].dump() == R"({"name":"KUBERNETES_SERVICE_PORT","value":"1"})");
  CHECK(env[8]["name"] == "URL");
}

TEST_CASE("a priority class that the platform shares stays, and no other") {
  auto names = std::make_shared<translate::SharedNames>();
  names->classes[static_cast<std::size_t>(translate::Overlay::priority_class)].insert("high");
  auto terms = terms_of(true);
  terms.shared = names;
  CHECK(dress(pod_of(R"({"priorityClassName":"high"})"), terms)->pod["spec"]["priorityClassName"] ==
        "high");
  CHECK_FALSE(dress(pod_of(R"({"priorityClassName":"mine"})"), terms)
                  ->pod["spec"]
                  .contains("priorityClassName"));
}

TEST_CASE("mutateDownwardAPIField: what is another thing upstream is read from annotations") {
  const auto wish = dressed(pod_of(R"({"serviceAccountName":"me",
    "containers":[{"name":"c","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.namespace"}}},
      {"name":"B","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}},
      {"name":"C","valueFrom":{"fieldRef":{"fieldPath":"spec.serviceAccountName"}}},
      {"name":"D","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}},
      {"name":"E","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},{"name":"F","value":"x"}]}],
    "volumes":[{"name":"v","downwardAPI":{"items":[{"path":"u","fieldRef":{"fieldPath":"metadata.uid"}}]}}]})"));
  const auto& env = wish.pod["spec"]["containers"][0]["env"];
  const auto field = [&](int at) { return env[at]["valueFrom"]["fieldRef"]["fieldPath"]; };
  CHECK(field(0) == "metadata.annotations['virtual-cluster/namespace']");
  CHECK(field(1) == "metadata.annotations['virtual-cluster/uid']");
  CHECK(field(2) == "metadata.annotations['virtual-cluster/service-account']");
  CHECK(field(3) == "metadata.annotations['virtual-cluster/node']");
  CHECK(field(4) == "status.podIP");
  CHECK(wish.pod["spec"]["volumes"][0]["downwardAPI"]["items"][0]["fieldRef"]["fieldPath"] ==
        "metadata.annotations['virtual-cluster/uid']");
  const auto& annotations = wish.pod["metadata"]["annotations"];
  CHECK(annotations["virtual-cluster/namespace"] == "default");
  CHECK(annotations["virtual-cluster/uid"] == "v1");
  CHECK(annotations["virtual-cluster/service-account"] == "me");
  CHECK(annotations["virtual-cluster/node"] == "n1");
}

TEST_CASE("the fence of a share: a quota, and pods that it takes") {
  CHECK_FALSE(share_fence({}));
  const auto fence =
      share_fence({{"cpu", q("2")}, {"memory", q("4Gi")}, {"nvidia.com/gpu", q("1")}});
  REQUIRE(fence);
  CHECK((*fence)["metadata"]["name"] == "zoo-share");
  CHECK(
      (*fence)["spec"]["hard"].dump() ==
      R"({"pods":"500","requests.cpu":"2","requests.memory":"4Gi","requests.nvidia.com/gpu":"1"})");
  CHECK((*share_fence({{"pods", q("7")}}))["spec"]["hard"]["pods"] == "7");
  const auto of = [](const char* spec, bool fenced) {
    auto out = dress(pod_of(spec), {"clu5t3", true, "", fenced});
    REQUIRE(out);
    return *std::move(out);
  };
  const char* const some = R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}},
      {"name":"d","resources":{"limits":{"memory":"1Gi"}}},{"name":"e"}]})";
  const auto spec = of(some, true).pod["spec"];
  CHECK(spec["containers"][0]["resources"].dump() == R"({"requests":{"cpu":"1","memory":"0"}})");
  CHECK(spec["containers"][1]["resources"].dump() ==
        R"({"limits":{"memory":"1Gi"},"requests":{"cpu":"0"}})");
  CHECK(spec["containers"][2]["resources"].dump() == R"({"requests":{"cpu":"0","memory":"0"}})");
  const auto none = of("{}", true).pod["spec"]["containers"][0]["resources"];
  CHECK(none.dump() == R"({"requests":{"cpu":"0","memory":"0"}})");
  CHECK_FALSE(of("{}", false).pod["spec"]["containers"][0].contains("resources"));
  CHECK(of(some, true).hash == of(some, false).hash);
  CHECK(is_of_fence("pods \"x\" is forbidden: exceeded quota: zoo-share, requested: pods=1"));
  CHECK_FALSE(is_of_fence("exceeded quota: other"));
}

TEST_CASE("what a pod is given later: ephemeral containers, conditions of gates, resources") {
  const auto plain = dressed(pod_of());
  const auto pod = pod_of(
      R"({"ephemeralContainers":[{"name":"look","image":"d"}],"readinessGates":[{"conditionType":"x/y"}]})");
  auto said = pod;
  said["status"]["conditions"] = json::parse(
      R"([{"type":"x/y","status":"False","reason":"W","lastTransitionTime":"t"},{"type":"Ready","status":"True"}])");
  const auto wish = dressed(said);
  CHECK(wish.has_later());
  CHECK_FALSE(plain.has_later());
  CHECK(wish.hash != dressed(pod).hash);
  CHECK(wish.gates.dump() == R"([{"reason":"W","status":"False","type":"x/y"}])");
  CHECK_FALSE(wish.pod["spec"].contains("ephemeralContainers"));
  auto there = wish.pod;
  CHECK(new_ephemeral(there, wish).size() == 1);
  CHECK(other_gates(there, wish).size() == 1);
  there["spec"]["ephemeralContainers"] = json::parse(R"([{"name":"look","image":"other"}])");
  there["status"]["conditions"] =
      json::parse(R"([{"type":"x/y","status":"False","reason":"W","message":""}])");
  CHECK(new_ephemeral(there, wish).empty());
  CHECK(other_gates(there, wish).empty());
  there["status"]["conditions"][0]["status"] = "True";
  CHECK(other_gates(there, wish).size() == 1);

  const auto asks = dressed(pod_of(
      R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"2","memory":"1Gi"}}}]})"));
  there = asks.pod;
  CHECK(resources_change(there, asks.pod).is_null());
  there["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1";
  CHECK(resources_change(there, asks.pod).dump() ==
        R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}})");
}

TEST_CASE("a pod that is resized is counted anew, if there is room for what is more") {
  PodTable table;
  table.set_share({{"cpu", q("2")}});
  PodFacts facts;
  facts.here = PodHere{"v1", "h"};
  facts.node = "n1";
  table.note_here("a/x", std::move(facts));
  CHECK_FALSE(table.reserve("a/x", {{"cpu", q("1")}}));
  const auto shortage = table.reserve("a/x", {{"cpu", q("3")}});
  REQUIRE(shortage);
  CHECK(shortage->wanted == q("2"));
  CHECK(shortage->left == q("1"));
  CHECK_FALSE(table.reserve("a/x", {{"cpu", q("2")}}));
  CHECK(table.used_on("n1")["cpu"] == q("2"));
  CHECK_FALSE(table.reserve("a/x", {{"cpu", q("500m")}}));
  CHECK(table.share_left()["cpu"] == q("1500m"));
  const Amounts before{{"cpu", q("2")}}, next{{"cpu", q("1")}, {"memory", q("1Gi")}};
  CHECK(larger_of(before, next) == Amounts{{"cpu", q("2")}, {"memory", q("1Gi")}});
}

TEST_CASE("what upstream's scheduler lacks, and whose addresses are known") {
  CHECK(lacking("0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match Pod's node "
                "affinity/selector. preemption: 0/3 nodes are available") == "cpu");
  CHECK(lacking("0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims") ==
        "nvidia.com/gpu");
  CHECK(lacking("0/1 nodes are available: 1 Too many pods.") == "pods");
  CHECK(lacking("0/1 nodes are available: 1 node(s) had untolerated taint").empty());
  PodTable table;
  PodThere there{"p1", "v1", "h"};
  there.version = 1;
  there.addresses = {"10.1.0.7"};
  table.note_there("a/x", there);
  CHECK(table.has_address("10.1.0.7"));
  there.addresses = {"10.1.0.8"};
  there.version = 2;
  table.note_there("a/x", there);
  CHECK_FALSE(table.has_address("10.1.0.7"));
  CHECK(table.has_address("10.1.0.8"));
  table.set_there("a/x", std::nullopt);
  CHECK_FALSE(table.has_address("10.1.0.8"));
}

TEST_CASE("names are asked of the cluster's DNS, as kubelets would have it") {
  const auto of = [](const char* spec, const char* dns = "10.96.0.77") {
    auto out = dress(pod_of(spec), {"clu5t3", true, dns});
    REQUIRE(out);
    return *std::move(out);
  };
  const auto usual = of("{}").pod["spec"];
  CHECK(usual["dnsPolicy"] == "None");
  CHECK(
      usual["dnsConfig"].dump() ==
      R"({"nameservers":["10.96.0.77"],"options":[{"name":"ndots","value":"5"}],"searches":["default.svc.cluster.local","svc.cluster.local","cluster.local"]})");
  const auto own = of(R"({"dnsPolicy":"ClusterFirst","dnsConfig":{
      "nameservers":["192.0.2.1","10.96.0.77","192.0.2.2","192.0.2.3"],"searches":["a.test","cluster.local"],
      "options":[{"name":"ndots","value":"2"},{"name":"edns0"}]}})")
                       .pod["spec"]["dnsConfig"];
  CHECK(own["nameservers"].dump() == R"(["10.96.0.77","192.0.2.1","192.0.2.2"])");
  CHECK(own["searches"].size() == 4);
  CHECK(own["options"].dump() == R"([{"name":"ndots","value":"2"},{"name":"edns0"}])");
  for (const char* spec :
       {R"({"dnsPolicy":"Default"})", R"({"dnsPolicy":"ClusterFirst","hostNetwork":true})"})
    CHECK(of(spec).pod["spec"]["dnsPolicy"] == "Default");
  CHECK(of(R"({"dnsPolicy":"ClusterFirstWithHostNet","hostNetwork":true})")
            .pod["spec"]["dnsPolicy"] == "None");
  const auto given = of(R"({"dnsPolicy":"None","dnsConfig":{"nameservers":["192.0.2.1"]}})");
  CHECK(given.pod["spec"]["dnsConfig"]["nameservers"].dump() == R"(["192.0.2.1"])");
  // A cluster without DNS never asks that of the upstream.
  CHECK(of("{}", "").pod["spec"]["dnsPolicy"] == "Default");
  CHECK(of("{}", "").hash == of("{}").hash); // no pod is written anew for it
}

TEST_CASE("what cannot be had upstream is said, and what is no bound pod is refused") {
  const auto claims = dress(pod_of(R"({"resourceClaims":[{"name":"x"}]})"), terms_of(true));
  REQUIRE_FALSE(claims);
  CHECK(claims.error().code() == Code::invalid);
  CHECK(claims.error().message().find("nvidia.com/gpu") != std::string::npos);
  CHECK_FALSE(dress(pod_of(R"({"nodeName":""})"), terms_of(true)));
  CHECK_FALSE(dress(json::object(), terms_of(true)));
}

TEST_CASE(
    "the hash is that of the wish: no diff, diff in container, diff of what upstream never sees") {
  const auto base = dressed(pod_of());
  CHECK(base.hash.size() == 16);
  CHECK(dressed(pod_of("{}", R"({"resourceVersion":"8","managedFields":[{}]})")).hash == base.hash);
  CHECK(dressed(pod_of(R"({"containers":[{"name":"c","image":"i:2"}]})")).hash != base.hash);
  CHECK(dressed(pod_of("{}", R"({"labels":{"a":"b"}})")).hash != base.hash);
  CHECK(dressed(pod_of("{}", R"({"uid":"v2"})")).hash != base.hash);
}

TEST_CASE("a pod goes upstream by the rules and the proof of what tenants write themselves") {
  auto pod = pod_of(
      R"({"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
          [{"topologyKey":"zone","namespaces":["other"],"namespaceSelector":{}}]}}})");
  const auto body = pod_in(mapping(), dressed(pod, false));
  REQUIRE(body);
  CHECK((*body)["metadata"]["namespace"] == "clu5t3-default");
  CHECK((*body)["metadata"]["annotations"][k_uid_annotation] == "v1");
  CHECK((*body)["metadata"]["labels"][k_id_label] == "clu5t3");
  const auto& term = (*body)["spec"]["affinity"]["podAffinity"]
                            ["requiredDuringSchedulingIgnoredDuringExecution"][0];
  CHECK(term["namespaces"][0] == "clu5t3-other");
  CHECK(term["namespaceSelector"]["matchLabels"]["tenant.kubezoo.io/id"] == "clu5t3");
  const auto back = pod_out(mapping(), kube::text_of(*body));
  REQUIRE(back);
  CHECK((*back)["metadata"]["namespace"] == "default");
  CHECK_FALSE((*back)["metadata"]["annotations"].contains(k_uid_annotation));
  CHECK(words_out(mapping(), "pods \"web\" is forbidden in clu5t3-default, clu5t3-other") ==
        "pods \"web\" is forbidden in default, other");
}

TEST_CASE("what upstream says is told in the cluster's words, as much as is worth reading") {
  CHECK(words_out(mapping(), "").empty());
  CHECK(words_out(mapping(), "clu5t3-").empty());
  CHECK(words_out(mapping(), "clu5t3-clu5t3-a clu5t3 b") == "a clu5t3 b");
  const std::string longest(k_most_words, 'x');
  CHECK(words_out(mapping(), longest) == longest);
  CHECK(words_out(mapping(), longest + "clu5t3-") == longest);
  CHECK(words_out(mapping(), longest + "y") == longest + "...");
  // A character of two bytes that would be cut in its middle.
  CHECK(words_out(mapping(), longest.substr(1) + "\xc3\xa9" + "z") == longest.substr(1) + "...");
  // As many names as a refusal of a large pod has: in one pass, else it takes minutes.
  std::string names;
  for (int i = 0; i < 2'000'000; ++i)
    names += "clu5t3-";
  CHECK(words_out(mapping(), names + "end") == "end");
}

TEST_CASE("what may change later is changed, and what upstream has added stays") {
  const auto before = dressed(pod_of("{}", R"({"annotations":{"old":"1"},"labels":{"a":"1"}})"));
  auto there = before.pod;
  there["metadata"]["annotations"]["added/by"] = "upstream";
  there["metadata"]["labels"]["mesh"] = "on";
  there["metadata"]["resourceVersion"] = "9";
  there["spec"]["containers"].push_back({{"name", "sidecar"}, {"image", "s:1"}});
  there["spec"]["tolerations"] = {{{"key", "theirs"}}};
  const auto wish = dressed(pod_of(
      R"({"containers":[{"name":"c","image":"i:2"}],"tolerations":[{"key":"new"}],"activeDeadlineSeconds":9})",
      R"({"annotations":{"new":"2"},"labels":{"b":"2"}})"));
  const auto next =
      dressed_again(there, wish, before.annotations[k_keys_annotation].get<std::string>());
  CHECK(next["metadata"]["labels"] == json{{"b", "2"}, {"mesh", "on"}});
  // A version before wrote down which annotations were the cluster's, and had all labels.
  CHECK(dressed_again(there, wish, R"(["old"])")["metadata"]["labels"] == json{{"b", "2"}});
  CHECK_FALSE(next["metadata"]["annotations"].contains("old"));
  CHECK(next["metadata"]["annotations"]["new"] == "2");
  CHECK(next["metadata"]["annotations"]["added/by"] == "upstream");
  CHECK(next["metadata"]["resourceVersion"] == "9");
  CHECK(next["spec"]["containers"][0]["image"] == "i:2");
  CHECK(next["spec"]["containers"][1]["image"] == "s:1");
  CHECK(next["spec"]["tolerations"].size() == 2);
  CHECK(next["spec"]["activeDeadlineSeconds"] == 9);
}

TEST_CASE("update status: what is the cluster's own, and what upstream alone has, is not shown") {
  const auto here = pod_of(R"({"readinessGates":[{"conditionType":"own/gate"}],
    "initContainers":[{"name":"i"}]})",
                           R"({"generation":3})");
  const auto terms = status_terms(here);
  CHECK(terms.containers == std::vector<std::string>{"i", "c"});
  auto there = pod_of();
  there["status"] =
      json::parse(R"({"phase":"Running","qosClass":"Burstable","nominatedNodeName":"x",
    "podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"resourceClaimStatuses":[{}],"observedGeneration":8,
    "conditions":[{"type":"Ready","status":"True","observedGeneration":8,"lastProbeTime":null},
                  {"type":"own/gate","status":"False"},{"type":"PodScheduled","status":"True"}],
    "containerStatuses":[{"name":"sidecar"},{"name":"c","ready":true}]})");
  const auto shown = shown_status(there, terms);
  CHECK(
      kube::text_of(shown) ==
      R"({"conditions":[{"status":"True","type":"PodScheduled"},{"status":"True","type":"Ready"}],"containerStatuses":[{"name":"c","ready":true}],"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]})");
  const auto patch = status_patch(shown, terms);
  CHECK(patch["metadata"]["uid"] == "v1");
  const auto& status = patch["status"];
  CHECK(status["observedGeneration"] == 3);
  CHECK(status["conditions"][0]["observedGeneration"] == 3);
  CHECK(status["message"].is_null());
  CHECK(status["initContainerStatuses"].is_null());
  CHECK(status["podIPs"][1]["$patch"] == "replace");
  CHECK_FALSE(status.contains("qosClass"));
}

TEST_CASE("update status: a node that upstream has not found yet is no news for the cluster") {
  auto there = pod_of();
  there["status"] = json::parse(
      R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]})");
  CHECK(kube::text_of(shown_status(there, status_terms(pod_of()))) == R"({"phase":"Pending"})");
}

TEST_CASE("no diff: what the cluster shows already is the same, whatever else is in it") {
  auto here = pod_of();
  here["status"] = json::parse(
      R"({"phase":"Running","qosClass":"BestEffort","observedGeneration":1,
          "conditions":[{"type":"Ready","status":"True","observedGeneration":1},{"type":"A","status":"True"}]})");
  auto there = pod_of();
  there["status"] = json::parse(
      R"({"phase":"Running","qosClass":"Burstable","observedGeneration":4,
          "conditions":[{"type":"A","status":"True"},{"type":"Ready","status":"True","observedGeneration":4}]})");
  const auto terms = status_terms(here);
  CHECK(fingerprint(shown_status(here, terms)) == fingerprint(shown_status(there, terms)));
  there["status"]["phase"] = "Failed";
  CHECK(fingerprint(shown_status(here, terms)) != fingerprint(shown_status(there, terms)));
}

TEST_CASE("what a pod asks for is counted as the scheduler counts it") {
  const auto of = [](const char* spec) { return pod_requests(pod_of(spec)); };
  const auto sum =
      of(R"({"containers":[{"resources":{"requests":{"cpu":"500m","nvidia.com/gpu":1}}},
    {"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})");
  CHECK(amount_of(sum, "cpu") == q("1500m"));
  CHECK(amount_of(sum, "memory") == q("1Gi"));
  CHECK(amount_of(sum, "nvidia.com/gpu") == q("1"));
  CHECK(amount_of(sum, "pods") == q("1"));
  CHECK(amount_of(of(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
    "initContainers":[{"resources":{"requests":{"cpu":"3"}}}]})"),
                  "cpu") == q("3"));
  CHECK(amount_of(of(R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
    "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},
                      {"resources":{"requests":{"cpu":"3"}}}]})"),
                  "cpu") == q("4"));
  CHECK(amount_of(of(R"({"resources":{"requests":{"cpu":"7"}},"containers":[{}]})"), "cpu") ==
        q("7"));
  const auto above =
      of(R"({"overhead":{"cpu":"250m","memory":"120Mi"},"resources":{"requests":{"cpu":"7"}},
    "containers":[{"resources":{"requests":{"memory":"8Mi"}}}]})");
  CHECK(amount_of(above, "cpu") == q("7250m"));
  CHECK(amount_of(above, "memory") == q("128Mi"));
  CHECK(amount_of(pod_claims(pod_of(R"({"overhead":{"cpu":"2","x":7},"containers":[{}]})")),
                  "cpu") == q("2"));
  const auto least = pod_claims(pod_of());
  CHECK(amount_of(least, "cpu") == q("100m"));
  CHECK(amount_of(least, "memory") == q("128Mi"));
  const auto little =
      pod_claims(pod_of(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"10m"}}}]})"));
  CHECK(amount_of(little, "cpu") == q("10m"));
  CHECK(amount_of(little, "memory") == q("128Mi"));
  CHECK(amount_of(pod_requests(json::object()), "pods") == q("1"));
}

TEST_CASE("a share holds to the last bit, and gives back") {
  Ledger ledger;
  ledger.set_share({{"cpu", q("1")}, {"pods", q("3")}});
  const Amounts pod = {{"cpu", q("400m")}, {"memory", q("9Gi")}, {"pods", q("1")}};
  CHECK_FALSE(ledger.reserve(pod));
  CHECK_FALSE(ledger.reserve(pod));
  const auto shortage = ledger.reserve(pod);
  REQUIRE(shortage);
  CHECK(shortage->resource == "cpu");
  CHECK(shortage->left == q("200m"));
  CHECK(ledger.used("cpu") == q("800m"));
  ledger.release(pod);
  CHECK_FALSE(ledger.reserve(pod));
  CHECK_FALSE(ledger.left("memory"));
  ledger.set_share({{"cpu", q("500m")}});
  CHECK(ledger.left("cpu")->negative());
  CHECK(ledger.reserve({{"cpu", q("1m")}}));
}

TEST_CASE("the table counts a pod once, and forgets what is on neither side") {
  PodTable table;
  table.set_share({{"cpu", q("1")}});
  const auto facts = [](const char* uid) {
    PodFacts out;
    out.here = PodHere{uid, "h"};
    out.node = "n1";
    return out;
  };
  const Amounts claims{{"cpu", q("600m")}};
  CHECK(table.note_here("a/x", facts("v1")));
  CHECK_FALSE(table.note_here("a/x", facts("v1"))); // an echo of a status
  CHECK(table.note_here("a/y", facts("v2")));
  CHECK_FALSE(table.reserve("a/x", claims));
  CHECK_FALSE(table.reserve("a/x", claims)); // it is already
  CHECK(table.reserve("a/y", claims));
  CHECK(table.used_on("n1")["cpu"] == q("600m"));
  table.set_there("a/x", PodThere{"p1", "v1", "h"});
  table.drop_here("a/x");
  auto undone = table.undone();
  std::sort(undone.begin(), undone.end());
  CHECK(undone == std::vector<std::string>{"a/x", "a/y"});
  CHECK(table.set_there("a/x", std::nullopt));
  CHECK(table.size() == 1);
  CHECK_FALSE(table.reserve("a/y", claims)); // what was counted came back
  CHECK(table.uncount("a/y"));
  CHECK(table.used_on("n1").empty());
}

TEST_CASE("what upstream runs is counted until it is gone there, whatever has its name by now") {
  PodTable table;
  table.set_share({{"cpu", q("1")}});
  const auto note = [&](const char* key, const char* uid) {
    PodFacts facts;
    facts.here = PodHere{uid, "h"};
    facts.node = "n2";
    table.note_here(key, std::move(facts));
  };
  const auto undone = [&] {
    auto out = table.undone();
    std::sort(out.begin(), out.end());
    return out;
  };
  // The whole share; deleted by force in the cluster, and made anew under its name.
  note("a/x", "v1");
  table.count("a/x", {{"cpu", q("1")}}, "n1");
  table.set_there("a/x", PodThere{"p1", "v1", "h"});
  table.drop_here("a/x");
  note("a/x", "v2");
  note("a/y", "v3");
  CHECK(table.share_left()["cpu"] == q("0"));
  CHECK(table.used_on("n1")["cpu"] == q("1")); // where it runs
  CHECK(table.used_on("n2").empty());
  CHECK(table.reserve("a/y", {{"cpu", q("100m")}}));
  // Upstream's is looked for before anything is free.
  table.keep_there({});
  CHECK(table.share_left()["cpu"] == q("0"));
  CHECK(undone() == std::vector<std::string>{"a/x", "a/y"});
  CHECK(table.set_there("a/x", std::nullopt));
  CHECK(table.share_left()["cpu"] == q("1"));
  // One that is being made is counted until it is known what became of it.
  CHECK_FALSE(table.reserve("a/y", {{"cpu", q("1")}}));
  table.drop_here("a/y");
  CHECK(table.share_left()["cpu"] == q("0"));
  CHECK(undone() == std::vector<std::string>{"a/x", "a/y"});
  CHECK(table.set_there("a/y", std::nullopt));
  CHECK_FALSE(table.look("a/y"));
}

TEST_CASE("a pod is counted by what is made of it, not by what was heard of it before") {
  PodTable table;
  table.set_share({{"cpu", q("2")}});
  PodFacts facts;
  facts.here = PodHere{"v1", "h"};
  table.note_here("a/x", std::move(facts));
  table.count("a/x", {{"cpu", q("100m")}}, "n1");
  const auto shortage = table.reserve("a/x", {{"cpu", q("100")}});
  REQUIRE(shortage);
  CHECK(shortage->resource == "cpu");
  CHECK(table.share_left()["cpu"] == q("1900m"));
  table.count("a/x", {{"cpu", q("100")}}, "n1"); // once
  CHECK(table.share_left()["cpu"] == q("1900m"));
  table.count("a/x", {{"cpu", q("100")}}, "n1", true);
  CHECK(table.share_left()["cpu"].negative());
  // Of upstream's the cluster's own containers count, not those that were added there.
  const auto there = pod_of(R"({"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}},
      {"name":"proxy","resources":{"requests":{"cpu":"5"}}}],
      "initContainers":[{"name":"added","resources":{"requests":{"cpu":"9"}}}]})");
  CHECK(amount_of(pod_claims(there, {"c"}), "cpu") == q("3"));
  CHECK(amount_of(pod_claims(there), "cpu") == q("9"));
  CHECK(amount_of(pod_claims(json::object(), {"c"}), "pods") == q("1"));
}

TEST_CASE("pods of a node that was taken away are told apart when their time is over") {
  PodTable table;
  const auto note = [&](const char* key, const char* node) {
    PodFacts facts;
    facts.here = PodHere{"v", "h"};
    facts.node = node;
    table.note_here(key, std::move(facts));
  };
  note("a/x", "n1");
  note("a/y", "n2");
  note("a/z", "n3");
  table.set_there("a/x", PodThere{"p1", "v", "h"});
  table.set_there("a/y", PodThere{"p2", "v", "h"});
  CHECK(table.nodes_upstream() == std::unordered_set<std::string>{"n1", "n2"});
  CHECK(table.undone() == std::vector<std::string>{"a/z"});
  CHECK(table.strand("n1", true) == std::vector<std::string>{"a/x"});
  CHECK(table.strand("n1", true).empty());
  auto undone = table.undone();
  std::sort(undone.begin(), undone.end());
  CHECK(undone == std::vector<std::string>{"a/x", "a/z"});
  CHECK(table.strand("n1", false) == std::vector<std::string>{"a/x"});
  CHECK(table.undone() == std::vector<std::string>{"a/z"});
}

TEST_CASE("refusals are counted while their pods are there, and what gave room says so once") {
  PodTable table;
  const auto note = [&](const char* key, const char* uid) {
    PodFacts facts;
    facts.here = PodHere{uid, "h"};
    table.note_here(key, std::move(facts));
  };
  note("a/x", "v1");
  note("a/y", "v2");
  table.set_told("a/x", 7);
  table.set_told("a/x", 8);
  table.set_told("a/y", 7);
  CHECK(table.refused() == 2);
  note("a/y", "v3"); // another one of the name
  CHECK(table.refused_keys() == std::vector<std::string>{"a/x"});
  table.drop_here("a/x");
  CHECK(table.refused() == 0);
  table.count("a/y", {{"cpu", q("1")}}, "");
  CHECK(table.uncount("a/y"));
  CHECK_FALSE(table.uncount("a/y"));
  CHECK(table.keep_here({}) == std::vector<std::string>{"a/y"});
  CHECK(table.size() == 0);
}

TEST_CASE("when there is room, as many are tried again as fit") {
  PodTable table;
  StoredBytes stored;
  table.use(stored);
  table.set_share({{"cpu", q("4")}});
  const auto want = [&](const std::string& key, const char* cpu) {
    PodFacts facts;
    facts.here.emplace();
    facts.here->uid = key;
    table.note_here(key, std::move(facts));
    if (table.reserve(key, {{"cpu", q(cpu)}})) table.set_told(key, 7);
  };
  const auto fitting = [&](std::size_t most) {
    auto out = table.fitting(most);
    std::sort(out.begin(), out.end());
    return out;
  };
  want("a/1", "4");
  want("a/2", "3");
  want("a/3", "3");
  want("a/4", "5");
  want("a/5", "1");
  CHECK(table.refused() == 4);
  CHECK(fitting(9).empty());
  REQUIRE(table.uncount("a/1"));
  // One of three and that of one; never that of five.
  auto some = fitting(9);
  REQUIRE(some.size() == 2);
  CHECK((some[0] == "a/2" || some[0] == "a/3"));
  CHECK(some[1] == "a/5");
  CHECK(table.fitting(1).size() == 1);
  // One that is counted is not tried again, nor one that was refused for another reason.
  CHECK_FALSE(table.reserve("a/5", {{"cpu", q("1")}}));
  table.set_told("a/5", 8);
  some = fitting(9);
  REQUIRE(some.size() == 1);
  CHECK(some[0] != "a/5");
  SUBCASE("of bytes, too") {
    const auto key = some[0];
    CHECK_FALSE(table.reserve(key, {{"cpu", q("3")}}));
    stored.set(0, StoredBytes::k_most);
    CHECK_FALSE(table.hold_bytes(key, 2000));
    table.uncount(key);
    table.reserve(key == "a/2" ? "a/3" : "a/2", {{"cpu", q("3")}});
    CHECK(fitting(9).empty());
    stored.set(2000, 0);
    CHECK(fitting(9) == std::vector<std::string>{key});
  }
}

TEST_CASE("what was heard is bounded, and a list that is older changes nothing") {
  PodTable table;
  const auto large = std::make_shared<const std::string>(PodTable::k_most_heard, 'x');
  table.hear("a/x", large, false);
  table.hear("a/y", std::make_shared<const std::string>("y"), false);
  CHECK(table.take("a/x")->heard->object == large);
  CHECK(table.take("a/y")->heard->object == nullptr);
  CHECK_FALSE(table.take("a/y")->heard);
  table.note_there("a/z", {.uid = "p", .owner = "v", .hash = "new", .version = 8});
  table.note_there("a/z", {.uid = "p", .owner = "v", .hash = "old", .version = 7});
  CHECK(table.look("a/z")->there->hash == "new");
  table.keep_there({});
  CHECK_FALSE(table.look("a/z"));
}

TEST_CASE("what a pod held is looked for when neither side has it any more, and free then") {
  PodTable table;
  PodFacts facts;
  facts.here.emplace();
  facts.here->uid = "v";
  table.note_here("a/x", facts);
  table.note_there("a/x", {.uid = "p", .owner = "v", .hash = "", .version = 1});
  table.count("a/x", {{"cpu", q("1")}}, "");
  table.drop_here("a/x");
  CHECK(table.look("a/x")); // upstream has it still
  table.keep_there({});
  CHECK(table.undone() == std::vector<std::string>{"a/x"});
  CHECK(table.set_there("a/x", std::nullopt));
  CHECK_FALSE(table.look("a/x"));
}
