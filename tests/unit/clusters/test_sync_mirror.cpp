// SPDX-License-Identifier: Apache-2.0
// Objects of a virtual cluster that are upstream, too: what is done about one, and how it is there.
// The cases of Virtual Cluster (CAPN) for services, endpoints, secrets and configmaps stand under
// their names where they apply.
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/mirror_table.hpp"
#include "daemon/clusters/sync/namespace_labels.hpp"
#include "daemon/clusters/sync/own_api.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_events.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/shared_classes.hpp"
#include "daemon/clusters/sync/volumes.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace zoo;
using namespace zoo::clusters::sync;
using nlohmann::json;
using zoo::clusters::k_uid_annotation;

namespace {

const MirrorKind& kind(const char* resource) {
  const auto at = mirror_kind_of(resource);
  REQUIRE(at >= 0);
  return mirror_kinds()[static_cast<std::size_t>(at)];
}

json object_of(const char* text, const char* metadata = "{}") {
  auto out = json::parse(text);
  out["metadata"] = {{"name", "a"}, {"namespace", "default"}, {"uid", "v1"}};
  out["metadata"].update(json::parse(metadata));
  return out;
}

MirrorWish wish_of(const char* resource, const json& object, bool named_node = true) {
  static const auto nodes =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n0", "n1"});
  auto out = dress_object(kind(resource), object, {"clu5t3", named_node, nodes});
  REQUIRE(out);
  return *std::move(out);
}

translate::Mapping mapping() {
  return {"clu5t3", std::make_shared<const translate::SharedNames>()};
}

struct StepRow {
  const char* name;
  std::optional<MirrorHere> here;
  std::optional<MirrorThere> there;
  MirrorStep step;
};

} // namespace

TEST_CASE("what is done about an object: service, endpoints, secret and configmap") {
  constexpr std::int64_t k_now = 1'000;
  const MirrorHere here{"v1", "h1"};
  const MirrorThere there{"p1", "v1", "h1"};
  const auto with = [&](auto&& change) {
    auto out = there;
    change(out);
    return out;
  };
  const auto unborn = [&](std::int64_t age) {
    return with([&](MirrorThere& object) {
      object.owner = k_unborn;
      object.made = k_now - age;
    });
  };
  const StepRow rows[] = {
      {"new", here, {}, MirrorStep::create},
      {"exists", here, there, MirrorStep::nothing},
      {"other uid", here, with([](auto& object) { object.owner = "v0"; }), MirrorStep::replace},
      {"other uid, which goes", here, with([](auto& object) {
         object.owner = "v0";
         object.leaving = true;
       }),
       MirrorStep::nothing},
      {"delete", {}, there, MirrorStep::remove},
      {"delete, which goes already",
       {},
       with([](auto& object) { object.leaving = true; }),
       MirrorStep::nothing},
      {"delete of what zood has not made",
       {},
       with([](auto& object) { object.owner.clear(); }),
       MirrorStep::nothing},
      {"already gone", {}, {}, MirrorStep::nothing},
      {"diff", here, with([](auto& object) { object.hash = "h0"; }), MirrorStep::change},
      {"not by syncer", here, with([](auto& object) { object.owner.clear(); }),
       MirrorStep::foreign},
      {"made by the cluster's own request", here, unborn(1), MirrorStep::change},
      {"made by it, and not stored yet", {}, unborn(1), MirrorStep::wait},
      {"made by it, and never stored", {}, unborn(k_unborn_seconds), MirrorStep::remove},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(step_name(mirror_step(row.here, row.there, k_now)) == step_name(row.step));
  }
}

TEST_CASE("new: what upstream sets itself, or is zood's, is left out") {
  const auto wish = wish_of(
      "configmaps",
      object_of(R"({"data":{"a":"1"},"immutable":true,"other":1})",
                R"({"resourceVersion":"7","ownerReferences":[{"name":"x"}],"finalizers":["x/y"],
             "labels":{"app":"web","zoo.kubezoo.io/x":"y"},
             "annotations":{"n":"1","kubectl.kubernetes.io/last-applied-configuration":"{}","zoo.kubezoo.io/b":"2"}})"));
  CHECK(
      wish.object.dump() ==
      R"({"apiVersion":"v1","data":{"a":"1"},"immutable":true,"kind":"ConfigMap","metadata":{"annotations":{"n":"1"},"labels":{"app":"web"},"name":"a","namespace":"default"}})");
  CHECK(wish.annotations[k_uid_annotation] == "v1");
  CHECK(wish.annotations[k_keys_annotation] == R"({"annotations":["n"],"labels":["app"]})");
  CHECK(wish.labels[k_id_label] == "clu5t3");
  CHECK(wish.hash.size() == 16);
}

TEST_CASE("the hash says whether upstream's is as it is wished, whatever UID it has") {
  const auto one = wish_of("configmaps", object_of(R"({"data":{"a":"1"}})"));
  CHECK(wish_of("configmaps", object_of(R"({"data":{"a":"1"}})", R"({"uid":"v2"})")).hash ==
        one.hash);
  CHECK(wish_of("configmaps", object_of(R"({"data":{"a":"2"}})")).hash != one.hash);
  CHECK(wish_of("configmaps", object_of(R"({"data":{"a":"1"}})", R"({"labels":{"a":"b"}})")).hash !=
        one.hash);
}

TEST_CASE("root CA: kube-root-ca renames, and no two objects of the cluster meet") {
  const auto& maps = kind("configmaps");
  CHECK(name_there(maps, "kube-root-ca.crt") == "kube-root-ca.crt.cluster");
  CHECK(name_there(maps, "zoo-root-ca.crt") == "zoo-root-ca.crt.cluster");
  CHECK(name_there(maps, "kube-root-ca.crt.cluster") == "kube-root-ca.crt.cluster.cluster");
  CHECK(name_there(kind("secrets"), "kube-root-ca.crt") == "kube-root-ca.crt");
  CHECK(name_there(kind("secrets"), "zoo-token-1") == "zoo-token-1.cluster");
  for (const char* name : {"a", "kube-root-ca.crt", "kube-root-ca.crt.cluster", "x.cluster",
                           "zoo-root-ca.crt", "zoo-token-1", "zoo-token-1.cluster"})
    for (const char* resource : {"configmaps", "secrets", "services"})
      CHECK(name_here(kind(resource), name_there(kind(resource), name)) == name);
  CHECK_FALSE(name_here(maps, "kube-root-ca.crt"));
  CHECK_FALSE(name_here(kind("secrets"), "zoo-token-1"));
}

TEST_CASE("secret: SA-token flavour is opaque upstream") {
  const auto wish = wish_of("secrets", object_of(R"({"type":"kubernetes.io/service-account-token",
                                                    "data":{"token":"dA=="}})"));
  CHECK(wish.object["type"] == "Opaque");
  CHECK(wish.object["data"]["token"] == "dA==");
  CHECK(wish_of("secrets", object_of(R"({"type":"kubernetes.io/tls"})")).object["type"] ==
        "kubernetes.io/tls");
}

TEST_CASE("endpoints: service with selector not copied, without selector copied") {
  const auto& slices = kind("endpointslices");
  const auto wanted = [&](const char* metadata) {
    return slices.wanted(object_of("{}", metadata));
  };
  CHECK(wanted(R"({"labels":{"kubernetes.io/service-name":"web"}})"));
  CHECK_FALSE(wanted(R"({"labels":{"kubernetes.io/service-name":"web",
      "endpointslice.kubernetes.io/managed-by":"endpointslice-controller.k8s.io"}})"));
  CHECK(wanted(R"({"labels":{"kubernetes.io/service-name":"web",
      "endpointslice.kubernetes.io/managed-by":"endpointslicemirroring-controller.k8s.io"}})"));
  CHECK_FALSE(wanted("{}"));
  CHECK_FALSE(wanted(R"({"labels":{"kubernetes.io/service-name":"kubernetes"}})"));
  CHECK(wanted(R"({"namespace":"side","labels":{"kubernetes.io/service-name":"kubernetes"}})"));
}

TEST_CASE(
    "endpoints: no controller upstream takes them for its own; diff targetRef does not count") {
  const char* metadata = R"({"labels":{"kubernetes.io/service-name":"web",
      "endpointslice.kubernetes.io/managed-by":"endpointslicemirroring-controller.k8s.io"}})";
  const auto slice = [&](const char* uid) {
    return object_of(fmt::format(R"({{"addressType":"IPv4","endpoints":[{{"addresses":["192.0.2.1"],
      "nodeName":"n","targetRef":{{"kind":"Pod","name":"p","uid":"{}","resourceVersion":"5"}}}}]}})",
                                 uid)
                         .c_str(),
                     metadata);
  };
  const auto wish = wish_of("endpointslices", slice("x"));
  CHECK(wish.object["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"] ==
        "virtual-cluster.zood");
  CHECK(wish.object["endpoints"][0].dump() ==
        R"({"addresses":["192.0.2.1"],"nodeName":"n","targetRef":{"kind":"Pod","name":"p"}})");
  CHECK(wish.hash == wish_of("endpointslices", slice("y")).hash);
  CHECK_FALSE(
      wish_of("endpointslices", slice("x"), false).object["endpoints"][0].contains("nodeName"));
}

TEST_CASE("service: IsControlPlaneService is not copied") {
  const auto& services = kind("services");
  CHECK_FALSE(services.wanted(object_of("{}", R"({"name":"kubernetes"})")));
  CHECK(services.wanted(object_of("{}", R"({"name":"kubernetes","namespace":"side"})")));
  CHECK(services.wanted(object_of("{}")));
}

TEST_CASE("service uws: no diff, status diff") {
  const auto& services = kind("services");
  const auto patch = [&](const char* own, const char* there) {
    return services.shown_status(json::parse(own), json::parse(there)).dump();
  };
  const char* one = R"({"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}})";
  CHECK(patch(one, one) == "null");
  CHECK(patch(R"({"status":{"loadBalancer":{}}})", R"({"status":{}})") == "null");
  CHECK(patch("{}", one) == one);
  CHECK(patch(one, R"({"status":{"loadBalancer":{}}})") ==
        R"({"status":{"loadBalancer":{"ingress":null}}})");
}

TEST_CASE("an object is changed: what others have added to it upstream stays") {
  const auto before = wish_of("services", object_of(R"({"spec":{"ports":[{"port":80}]}})",
                                                    R"({"annotations":{"old":"1","kept":"1"}})"));
  auto there = before.object;
  there["metadata"]["annotations"]["theirs"] = "x";
  there["metadata"]["finalizers"] = {"service.kubernetes.io/load-balancer-cleanup"};
  there["status"] = {{"loadBalancer", json::object()}};
  const auto wish = wish_of("services", object_of(R"({"spec":{"ports":[{"port":81}]}})",
                                                  R"({"annotations":{"kept":"2"}})"));
  const auto next = dressed_anew(kind("services"), there, wish,
                                 before.annotations[k_keys_annotation].get<std::string>());
  CHECK(next["metadata"]["annotations"] == json{{"kept", "2"}, {"theirs", "x"}});
  CHECK(next["metadata"]["finalizers"].size() == 1);
  CHECK(next["spec"]["ports"][0]["port"] == 81);
  CHECK(next.contains("status"));
}

TEST_CASE("what a cluster may not have upstream is refused, in words") {
  const std::string space(60, 'n');
  const auto wish =
      dress_object(kind("configmaps"), object_of("{}", json{{"namespace", space}}.dump().c_str()),
                   {"clu5t3", true});
  REQUIRE_FALSE(wish);
  CHECK(wish.error().message().find("56 characters") != std::string::npos);
  const auto refused = [&](const char* resource, const char* text, const char* metadata = "{}") {
    const auto dressed = wish_of(resource, object_of(text, metadata));
    const auto& row = kind(resource);
    return !object_in(mapping(), row.group, row.kind, dressed.object);
  };
  CHECK(refused("services", R"({"spec":{"externalIPs":["192.0.2.1"]}})"));
  CHECK(refused("networkpolicies", R"({"spec":{}})", R"({"name":"zoo-baseline"})"));
  CHECK_FALSE(refused("services", R"({"spec":{"type":"ExternalName","externalName":"a.b"}})"));
}

TEST_CASE("an external name of the cluster's is one of its own namespaces upstream") {
  const auto wish = wish_of(
      "services",
      object_of(
          R"({"spec":{"type":"ExternalName","externalName":"db.abc123-side.svc.cluster.local"}})"));
  const auto there = object_in(mapping(), "", "Service", wish.object);
  REQUIRE(there);
  CHECK((*there)["spec"]["externalName"] == "db.clu5t3-abc123-side.svc.cluster.local");
  CHECK((*there)["metadata"]["namespace"] == "clu5t3-default");
}

TEST_CASE("TestGetSecrets, TestGetConfigmaps: what a pod names") {
  const auto pod = json::parse(R"({"metadata":{"namespace":"side","name":"p"},"spec":{
    "imagePullSecrets":[{"name":"pull"}],
    "initContainers":[{"env":[{"valueFrom":{"configMapKeyRef":{"name":"init"}}}]}],
    "containers":[{"envFrom":[{"configMapRef":{"name":"m"}},{"secretRef":{"name":"s"}}],
                   "env":[{"name":"A","value":"x"},{"valueFrom":{"secretKeyRef":{"name":"s"}}},7]}],
    "volumes":[{"configMap":{"name":"vm"}},{"secret":{"secretName":"vs"}},{"emptyDir":{}},
      {"projected":{"sources":[{"configMap":{"name":"pm"}},{"secret":{"name":"ps"}},{"serviceAccountToken":{}}]}},
      {"csi":{"nodePublishSecretRef":{"name":"cs"}}},{"azureFile":{"secretName":"az"}},"text"]}})");
  const auto of = [](const char* resource, const char* name) {
    return fmt::format("{}/side/{}", mirror_kind_of(resource), name);
  };
  std::vector<std::string> expected;
  for (const char* name : {"init", "m", "vm", "pm"})
    expected.push_back(of("configmaps", name));
  for (const char* name : {"pull", "s", "vs", "ps", "cs", "az"})
    expected.push_back(of("secrets", name));
  std::sort(expected.begin(), expected.end());
  CHECK(references_of(pod) == expected);
  CHECK(references_of(json::object()).empty());
  auto many = pod;
  for (std::size_t at = 0; at < 2 * k_most_references; ++at)
    many["spec"]["volumes"].push_back({{"configMap", {{"name", fmt::format("m{}", at)}}}});
  CHECK(references_of(many).size() <= k_most_references);
}

TEST_CASE("an object is named by some pod as long as one of them is there") {
  References references;
  CHECK(references.set("a/1", {"x", "y"}) == std::vector<std::string>{"x", "y"});
  CHECK(references.set("a/2", {"y"}).empty());
  CHECK(references.set("a/1", {"x", "z"}) == std::vector<std::string>{"z"});
  CHECK(references.contains("y"));
  CHECK(references.drop("a/2") == std::vector<std::string>{"y"});
  CHECK_FALSE(references.contains("y"));
  CHECK(references.drop("a/2").empty());
  CHECK(references.drop("a/1").size() == 2);
}

TEST_CASE("a table of objects knows both sides, the later of two, and has an end") {
  MirrorTable table;
  using Noted = MirrorTable::Noted;
  CHECK(table.note_here("a/x", {"v1", "h1"}) == Noted::other);
  CHECK(table.note_here("a/x", {"v1", "h1"}) == Noted::same);
  CHECK(table.note_here("a/x", {"v1", "h2"}) == Noted::other);
  MirrorThere there{"p1", "v1", "h2"};
  there.version = 7;
  CHECK(table.note_there("a/x", there));
  CHECK_FALSE(table.note_there("a/x", there));
  there.version = 6;
  there.hash = "h0";
  CHECK_FALSE(table.note_there("a/x", there));
  CHECK(table.undone(false, 0).empty());
  CHECK(table.undone(true, 0).size() == 1); // nothing of it was shown yet
  table.set_shown("a/x", 7);
  CHECK(table.undone(true, 0).empty());
  table.set_told("a/x", 5);
  CHECK(table.refused() == 1);
  CHECK(table.drop_here("a/x"));
  CHECK(table.refused() == 0);
  CHECK_FALSE(table.drop_here("a/x"));
  CHECK(table.undone(false, 0).size() == 1);
  table.keep_there({});
  CHECK(table.size() == 0);
  for (std::size_t at = 0; at < MirrorTable::k_most; ++at)
    table.note_here(fmt::format("a/{}", at), {"v", "h"});
  CHECK_FALSE(table.full());
  CHECK(table.note_here("a/more", {"v", "h"}) == Noted::full);
  CHECK(table.full());
  CHECK(table.note_here("a/0", {"v", "h2"}) == Noted::other);
  table.begin_here();
  CHECK_FALSE(table.full());
  CHECK(table.keep_here({"a/0"}).size() == MirrorTable::k_most - 1);
  CHECK(table.note_here("a/more", {"v", "h"}) == Noted::other);
}

TEST_CASE("kinds that are upstream if a cluster says so") {
  CHECK(is_on(kind("services"), {}));
  CHECK_FALSE(is_on(kind("poddisruptionbudgets"), {}));
  CHECK(is_on(kind("poddisruptionbudgets"), {.disruption_budgets = true}));
  const auto wish =
      wish_of("poddisruptionbudgets",
              object_of(R"({"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}},
                                          "status":{"currentHealthy":3}})"));
  CHECK(wish.object["apiVersion"] == "policy/v1");
  CHECK(wish.object["spec"]["minAvailable"] == 1);
  CHECK_FALSE(wish.object.contains("status"));
  const auto there = object_in(mapping(), "policy", "PodDisruptionBudget", wish.object);
  REQUIRE(there);
  CHECK((*there)["metadata"]["namespace"] == "clu5t3-default");
}

TEST_CASE("namespace: labels go down, but those that are the platform's") {
  const auto space = [](const char* labels, const char* annotation = nullptr) {
    json out = {{"metadata", {{"name", "n"}, {"uid", "p1"}, {"labels", json::parse(labels)}}}};
    if (annotation != nullptr) out["metadata"]["annotations"][k_labels_annotation] = annotation;
    return out;
  };
  struct Row {
    const char* name;
    json own, there;
    const char* labels; ///< of the patch; null: nothing is to be done
    const char* keys;
  };
  const Row rows[] = {
      {"new with labels", space(R"({"team":"blue","kubernetes.io/metadata.name":"n"})"),
       space(R"({"tenant.kubezoo.io/id":"clu5t3","kubernetes.io/metadata.name":"clu5t3-n"})"),
       R"({"team":"blue"})", R"(["team"])"},
      {"new without labels", space(R"({"kubernetes.io/metadata.name":"n"})"), space("{}"), nullptr,
       nullptr},
      {"exists", space(R"({"team":"blue"})"), space(R"({"team":"blue"})", R"(["team"])"), nullptr,
       nullptr},
      {"changed", space(R"({"team":"red"})"), space(R"({"team":"blue"})", R"(["team"])"),
       R"({"team":"red"})", R"(["team"])"},
      {"taken away", space("{}"), space(R"({"team":"blue","own":"x"})", R"(["team"])"),
       R"({"team":null})", "[]"},
      {"a level of Pod Security", space(R"({"pod-security.kubernetes.io/enforce":"privileged",
        "pod-security.kubernetes.io/warn":"restricted"})"),
       space(R"({"pod-security.kubernetes.io/enforce":"baseline"})"), nullptr, nullptr},
      {"one that the platform has put there", space(R"({"team":"blue"})"),
       space(R"({"team":"infra"})"), nullptr, nullptr},
      {"one of zood's", space(R"({"tenant.kubezoo.io/id":"other1"})"),
       space(R"({"tenant.kubezoo.io/id":"clu5t3"})"), nullptr, nullptr},
      {"an annotation that is none", space(R"({"team":"blue"})"), space("{}", "{["),
       R"({"team":"blue"})", R"(["team"])"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    const auto patch = labels_patch(row.own, row.there);
    CHECK(patch.is_null() == (row.labels == nullptr));
    if (row.labels == nullptr || patch.is_null()) continue;
    CHECK(patch["metadata"]["labels"].dump() == row.labels);
    CHECK(patch["metadata"]["annotations"][k_labels_annotation] == row.keys);
    CHECK(patch["metadata"]["uid"] == "p1");
  }
}

TEST_CASE("service: nodePorts are counted as upstream gives them out") {
  struct Row {
    const char* name;
    const char* spec;
    std::uint32_t ports;
  };
  const Row rows[] = {
      {"ClusterIP", R"({"type":"ClusterIP","ports":[{"port":80}]})", 0},
      {"NodePort", R"({"type":"NodePort","ports":[{"port":80},{"port":81,"nodePort":30000}]})", 2},
      {"LoadBalancer", R"({"type":"LoadBalancer","ports":[{"port":80}]})", 1},
      {"LoadBalancer without nodePorts",
       R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,"ports":[{"port":80},{"port":81,"nodePort":30000}]})",
       1},
      {"LoadBalancer with a port for its health",
       R"({"type":"LoadBalancer","externalTrafficPolicy":"Local","ports":[{"port":80}]})", 2},
      {"NodePort, Local", R"({"type":"NodePort","externalTrafficPolicy":"Local","ports":[{}]})", 1},
      {"ExternalName", R"({"type":"ExternalName","ports":[{"port":80}]})", 0},
      {"without a type", R"({"ports":[{"port":80}]})", 0},
      {"ports that are none", R"({"type":"NodePort","ports":7})", 0},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(kind("services").ports({{"spec", json::parse(row.spec)}}) == row.ports);
  }
  CHECK(kind("services").ports({{"spec", 7}}) == 0);
  CHECK((kind("configmaps").ports == nullptr));
}

TEST_CASE("a cluster has no more Services and nodePorts upstream than it may") {
  MirrorTable table;
  table.set_limits({2, 3});
  const auto taken = [&] {
    const auto now = table.taken();
    return fmt::format("{}/{}", now.services, now.node_ports);
  };
  const auto upstreams = [](const char* owner, const char* hash, std::uint64_t version) {
    MirrorThere out{"p1", owner, hash};
    out.version = version;
    return out;
  };
  // As the cluster's API server asks: counted before it is made, and as long as it is there.
  {
    auto place = table.claim("a/x", 2);
    REQUIRE(place);
    CHECK(taken() == "1/2");
    CHECK_FALSE(table.allows("b/y", 2));
    CHECK(table.allows("b/y", 1));
    table.note_there("a/x", upstreams("unborn", "h1", 1));
    place->done();
  }
  CHECK(taken() == "1/2");
  table.note_here("a/x", {"v1", "h1", 2});
  table.note_there("a/x", upstreams("v1", "h1", 2));
  CHECK(taken() == "1/2");
  {
    CHECK(table.claim("b/y", 1));
  } // upstream has refused it after all
  CHECK(taken() == "1/2");
  CHECK(table.size() == 1);
  // More ports for one that is there.
  const auto more = table.allows("a/x", 4);
  REQUIRE_FALSE(more);
  CHECK(more.error().code() == Code::forbidden);
  CHECK(
      more.error().message() ==
      "it needs 2 nodePorts more, and 1 are left of the 3 that the virtual cluster may have "
      "(spec.limits.nodePorts of its VirtualCluster): have another Service do without, or ask the "
      "platform for more");
  // The cluster has one with more that was not asked for: what is upstream counts until it may.
  table.note_here("a/x", {"v1", "h2", 9});
  CHECK(taken() == "1/2");
  CHECK_FALSE(table.claim("a/x", 9));
  // Fewer: given back when upstream has it so.
  table.note_here("a/x", {"v1", "h3", 1});
  {
    auto place = table.claim("a/x", 1);
    REQUIRE(place);
    CHECK(taken() == "1/2");
    table.note_there("a/x", upstreams("v1", "h3", 3));
    place->done();
  }
  CHECK(taken() == "1/1");
  // The number of Services; a lower limit takes nothing away.
  {
    auto place = table.claim("b/y", 0);
    REQUIRE(place);
    table.note_there("b/y", upstreams("v2", "h", 4));
    place->done();
  }
  CHECK(taken() == "2/1");
  REQUIRE_FALSE(table.allows("b/z", 0));
  CHECK(table.allows("b/z", 0).error().message().find("may have 2 Services") != std::string::npos);
  table.set_limits({1, 0});
  CHECK(table.allows("b/y", 0));
  CHECK(taken() == "2/1");
  table.drop_there("b/y");
  CHECK(taken() == "1/1");
  // zood comes back: what was there is counted, whatever the limit.
  MirrorTable again;
  again.set_limits({0, 0});
  again.note_here("a/x", {"v1", "h3", 5});
  CHECK(again.taken().services == 0);
  again.note_there("a/x", upstreams("v1", "h3", 3));
  CHECK(again.taken().node_ports == 5);
  again.keep_there({});
  CHECK(again.taken() == MirrorLimits{0, 0});
}

TEST_CASE("of what was refused for want of room no more is tried again than there is room for") {
  MirrorTable table;
  table.set_limits({4, 3});
  const auto fits = [&table](std::size_t most) {
    auto out = table.fitting(most);
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto put_there = [&table](const std::string& key, std::uint32_t ports) {
    auto place = table.claim(key, ports);
    REQUIRE(place);
    table.note_here(key, {"v-" + key, "h", ports});
    MirrorThere there{"p-" + key, "v-" + key, "h"};
    there.version = 1;
    table.note_there(key, there);
    place->done();
  };
  put_there("a/x", 2);
  put_there("a/y", 0);
  put_there("a/z", 0);
  CHECK(fits(9).empty());
  for (const auto* key : {"b/1", "b/2", "b/3"}) {
    table.note_here(key, {"v", "h", 0});
    table.set_told(key, 7, true);
  }
  table.note_here("b/invalid", {"v", "h", 0});
  table.set_told("b/invalid", 7); // room does not help it
  CHECK(table.refused() == 4);
  CHECK(fits(9).size() == 1); // one place is left
  table.drop_there("a/y");
  table.drop_there("a/z");
  CHECK(fits(9) == std::vector<std::string>{"b/1", "b/2", "b/3"});
  CHECK(fits(2).size() == 2);
  CHECK(fits(0).empty());
  // Of nodePorts one is left, which is enough for either.
  for (const auto* key : {"b/1", "b/2"})
    table.note_here(key, {"v", "h2", 1});
  table.note_here("b/3", {"v", "h2", 2});
  CHECK(fits(9).size() == 1);
  CHECK(fits(9) != std::vector<std::string>{"b/3"});
  table.drop_there("a/x");
  table.set_told("b/1", 0); // it was taken
  CHECK(fits(9) == std::vector<std::string>{"b/2", "b/3"});
  // One that is there and wants more needs no place, but ports.
  put_there("a/x", 3);
  table.note_here("a/x", {"v-a/x", "h2", 4});
  table.set_told("a/x", 7, true);
  CHECK(fits(9).empty());
  table.set_limits({1, 4});
  CHECK(fits(9) == std::vector<std::string>{"a/x"});
}

TEST_CASE("a pod's tokens are the cluster's, in a Secret of the pod's") {
  auto pod =
      json::parse(R"({"metadata":{"name":"p","namespace":"default","uid":"v1"},"spec":{"volumes":[
    {"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"token","expirationSeconds":3607}},{"configMap":{"name":"x"}}]}},
    {"name":"b","projected":{"sources":[{"serviceAccountToken":{"path":"t","audience":"vault","expirationSeconds":5}}]}}]}})");
  const auto wants = token_wants(pod);
  REQUIRE(wants.size() == 2);
  CHECK(wants[0].key == "token-0");
  CHECK(wants[0].seconds == 3607);
  CHECK(wants[0].audience.empty());
  CHECK(wants[1].audience == "vault");
  CHECK(wants[1].seconds == 600);
  REQUIRE(dress_tokens(pod["spec"], token_secret_name("v1")));
  CHECK(pod["spec"]["volumes"][1]["projected"]["sources"].dump() ==
        R"([{"secret":{"items":[{"key":"token-1","path":"t"}],"name":"zoo-token-v1"}}])");
  CHECK(pod["spec"]["volumes"][0]["projected"]["sources"].size() == 2);
  CHECK(token_wants(pod).empty());
  const auto secret = token_secret("default", "p", "v1", "p1", {{"token-0", "abc"}});
  CHECK(secret["data"]["token-0"] == "YWJj");
  CHECK(secret["metadata"]["ownerReferences"][0]["uid"] == "p1");
  CHECK(token_renewal(1'000, 2'000) == 1'800);
  CHECK(token_renewal(1'000, 900) == 1'000);
  auto many = json::parse(R"({"volumes":[]})");
  for (std::size_t at = 0; at <= k_most_tokens; ++at)
    many["volumes"].push_back(
        json::parse(R"({"projected":{"sources":[{"serviceAccountToken":{}}]}})"));
  CHECK_FALSE(dress_tokens(many, "s"));
  json one = json::parse(
      R"({"spec":{"volumes":[{"projected":{"sources":[{"serviceAccountToken":{}}]}}]}})");
  auto& wanted = one["spec"]["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"];
  wanted["audience"] = std::string(k_longest_audience, 'a');
  CHECK(token_bytes(one) == 2048 + 2 * k_longest_audience);
  CHECK(token_bytes(json::parse(R"({"spec":{}})")) == 0);
  CHECK(dress_tokens(one["spec"], token_secret_name("v1")));
  CHECK(token_bytes_there(one) == 2048 + k_longest_audience);
}

TEST_CASE("the hook asks zood about Services, and goes on without an answer") {
  const auto hook = service_hook("pem");
  const auto& one = hook["webhooks"][0];
  CHECK(one["clientConfig"]["url"] == "https://zood.internal/services");
  CHECK(one["clientConfig"]["caBundle"] == "cGVt");
  CHECK(one["failurePolicy"] == "Ignore");
  CHECK(one["sideEffects"] == "NoneOnDryRun");
  CHECK(one["rules"][0]["resources"].dump() == R"(["services"])");
}

TEST_CASE("pvc: what the cluster's scheduler and zood have written there is no wish") {
  const char* metadata = R"({"annotations":{"volume.kubernetes.io/selected-node":"n1","mine":"1",
      "pv.kubernetes.io/bind-completed":"yes"}})";
  const auto claim = object_of(
      R"({"spec":{"storageClassName":"fast","volumeName":"pvc-1","selector":{"matchLabels":{"a":"b"}},
                  "resources":{"requests":{"storage":"1Gi"}}}})",
      metadata);
  const auto wish = wish_of("persistentvolumeclaims", claim);
  CHECK_FALSE(wish.object["spec"].contains("volumeName"));
  CHECK_FALSE(wish.object["spec"].contains("selector"));
  CHECK(wish.object["metadata"]["annotations"] ==
        json{{"volume.kubernetes.io/selected-node", "n1"}, {"mine", "1"}});
  CHECK(wish_of("persistentvolumeclaims", claim, false).object["metadata"]["annotations"] ==
        json{{"mine", "1"}});
}

TEST_CASE("pvc: its volume is made on none but the cluster's nodes") {
  const auto chosen = [](const char* node, const MirrorTerms& terms) {
    auto claim = object_of(R"({"spec":{"storageClassName":"fast"}})");
    claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = node;
    const auto wish = dress_object(kind("persistentvolumeclaims"), claim, terms);
    REQUIRE(wish);
    return wish->object["metadata"]["annotations"].contains("volume.kubernetes.io/selected-node");
  };
  const auto nodes =
      std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"n1", "n2"});
  CHECK(chosen("n2", {"clu5t3", true, nodes}));
  CHECK_FALSE(chosen("n3", {"clu5t3", true, nodes})); // another cluster's, or nobody's
  CHECK_FALSE(chosen("", {"clu5t3", true, nodes}));
  CHECK_FALSE(chosen("n2", {"clu5t3", false, nodes}));
  CHECK_FALSE(chosen("n2", {"clu5t3", true}));
}

TEST_CASE("pvc: without a class it would have a volume of the platform's") {
  for (const char* spec : {"{}", R"({"storageClassName":""})", R"({"storageClassName":7})"}) {
    CAPTURE(spec);
    const auto claim = object_of(fmt::format(R"({{"spec":{}}})", spec).c_str());
    const auto wish =
        dress_object(kind("persistentvolumeclaims"), claim, MirrorTerms{"abc123", true});
    REQUIRE_FALSE(wish);
    CHECK(wish.error().code() == Code::invalid);
  }
  CHECK_FALSE(
      dress_object(kind("persistentvolumeclaims"), object_of("{}"), MirrorTerms{"abc123", true}));
  // An annotation comes before what the specification says, even if it is empty.
  for (const char* named : {"", "slow"}) {
    const json metadata = {{"annotations", {{"volume.beta.kubernetes.io/storage-class", named}}}};
    const auto claim =
        object_of(R"({"spec":{"storageClassName":"fast"}})", metadata.dump().c_str());
    CHECK(dress_object(kind("persistentvolumeclaims"), claim, MirrorTerms{"abc123", true})
              .has_value() == (*named != 0));
  }
}

TEST_CASE("references: beyond the bound those of the last pods are left out") {
  References all;
  std::vector<std::string> many;
  for (std::size_t i = 0; i < References::k_most - 1; ++i)
    many.push_back(std::to_string(i));
  CHECK(all.set("web/a", many).size() == References::k_most - 1);
  CHECK(all.set("web/b", {"x", "y"}).size() == 1);
  CHECK(all.contains("x"));
  CHECK_FALSE(all.contains("y"));
  CHECK(all.set("web/c", {"z"}).empty());
  CHECK(all.drop("web/a").size() == References::k_most - 1);
  CHECK(all.set("web/c", {"z"}).size() == 1);
}

TEST_CASE("pvc: size diff goes down, and nothing else of a claim that is there") {
  auto there =
      wish_of(
          "persistentvolumeclaims",
          object_of(
              R"({"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"1Gi"}}}})"))
          .object;
  there["spec"]["volumeName"] = "pvc-1";
  there["spec"]["volumeMode"] = "Filesystem";
  const auto wish = wish_of(
      "persistentvolumeclaims",
      object_of(
          R"({"spec":{"storageClassName":"fast","resources":{"requests":{"storage":"2Gi"}},"volumeMode":"Block"}})"));
  const auto next = dressed_anew(kind("persistentvolumeclaims"), there, wish, "");
  CHECK(
      next["spec"].dump() ==
      R"({"resources":{"requests":{"storage":"2Gi"}},"storageClassName":"fast","volumeMode":"Filesystem","volumeName":"pvc-1"})");
}

TEST_CASE("pvc: status lost, bound, pending") {
  const auto& claims = kind("persistentvolumeclaims");
  const auto status = [&](const char* own, const char* there) {
    return claims.shown_status(json::parse(own), json::parse(there)).dump();
  };
  CHECK(status(R"({"status":{"phase":"Pending"}})", R"({"status":{"phase":"Pending"}})") == "null");
  CHECK(status(R"({"status":{"phase":"Pending"}})",
               R"({"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}})") ==
        R"({"status":{"capacity":{"storage":"1Gi"},"phase":"Bound"}})");
  CHECK(status(R"({"status":{"phase":"Bound"}})", R"({"status":{"phase":"Lost"}})") ==
        R"({"status":{"phase":"Lost"}})");
  const auto shown = [&](const char* own, const char* there) {
    return claims.shown(json::parse(own), json::parse(there)).dump();
  };
  CHECK(shown("{}", "{}") == "null");
  CHECK(
      shown(
          "{}",
          R"({"spec":{"volumeName":"pvc-1"},"metadata":{"annotations":{"x":"y","pv.kubernetes.io/bind-completed":"yes"}}})") ==
      R"({"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pvc-1"}})");
  CHECK(shown(R"({"spec":{"volumeName":"pvc-1"}})", R"({"spec":{"volumeName":"pvc-1"}})") ==
        "null");
}

TEST_CASE("pv: the cluster's is bound to its claim, and does not say where the data is") {
  const auto upstream = json::parse(
      R"({"metadata":{"name":"pvc-1"},"spec":{"capacity":{"storage":"1Gi"},
        "nfs":{"server":"host"},"nodeAffinity":{"required":{}},"claimRef":{"uid":"p1"},"persistentVolumeReclaimPolicy":"Delete"}})");
  const auto volume = shown_volume(upstream, object_of("{}"), true);
  CHECK(volume["spec"]["claimRef"]["uid"] == "v1");
  CHECK(volume["spec"]["claimRef"]["namespace"] == "default");
  CHECK(volume["spec"]["capacity"]["storage"] == "1Gi");
  CHECK(volume["spec"].contains("nodeAffinity"));
  CHECK(volume.dump().find("host") == std::string::npos);
  // The Node of a share has none of the labels by which upstream's nodes are told apart.
  CHECK_FALSE(shown_volume(upstream, object_of("{}"), false)["spec"].contains("nodeAffinity"));
}

TEST_CASE("storageclass, priorityclass: public ones are shown, without their parameters") {
  const ClassKind storage{translate::Overlay::storage_class, "storage.k8s.io", "v1",
                          "storageclasses", "StorageClass"};
  const auto shown = shown_class(
      storage,
      json::parse(R"({"metadata":{"name":"fast","uid":"u","labels":{"a":"b"}},"provisioner":"p",
        "parameters":{"secret":"x"},"volumeBindingMode":"Immediate"})"));
  CHECK(
      shown.dump() ==
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"annotations":{},"labels":{"a":"b","virtual-cluster/of-upstream":"true"},"name":"fast"},"provisioner":"p","volumeBindingMode":"Immediate"})");
}

TEST_CASE("event: only of what the cluster's own scheduler has not said, of the cluster's pod") {
  const auto event =
      json::parse(R"({"metadata":{"name":"e.1","namespace":"default","uid":"u"},"reason":"Pulled",
    "message":"m","involvedObject":{"kind":"Pod","name":"p","uid":"p1","resourceVersion":"5"},"count":2})");
  const auto shown = shown_event(event, "v1");
  REQUIRE(shown);
  CHECK((*shown)["involvedObject"].dump() == R"({"kind":"Pod","name":"p","uid":"v1"})");
  CHECK((*shown)["metadata"].dump() == R"({"name":"e.1","namespace":"default"})");
  CHECK((*shown)["count"] == 2);
  auto scheduled = event;
  scheduled["reason"] = "Scheduled";
  CHECK_FALSE(shown_event(scheduled, "v1"));
  CHECK_FALSE(shown_event(json::object(), "v1"));
  EventPace pace;
  const auto now = EventPace::Clock::now();
  std::size_t taken = 0;
  for (int at = 0; at < 100; ++at)
    taken += pace.take(now) ? 1 : 0;
  CHECK(taken == EventPace::k_a_minute);
  CHECK(pace.take(now + std::chrono::minutes(1)));
}
