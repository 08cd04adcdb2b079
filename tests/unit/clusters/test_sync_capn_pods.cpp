// SPDX-License-Identifier: Apache-2.0
// Tables of Virtual Cluster (CAPN), pkg/syncer/resources, under the names of their tests and rows:
// what is sent to both API servers in each case of pods, nodes and namespaces. Where
// zood decides otherwise than CAPN the row says so. Tables about one object alone stand in
// test_sync_step.cpp, test_sync_mirror.cpp and test_sync_tables.cpp; what is left out stands in
// docs/virtual-clusters.md.
#include "daemon/clusters/sync/node_dress.hpp"
#include "daemon/tenants/footprint.hpp"
#include "tests/unit/clusters/sync_rows.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters::sync;
using namespace zoo::tests;
using nlohmann::json;

// ---- pods ----

namespace {

void pod_is_there(Cluster& world) { world.own.put(k_pod, pod_of()); }
void heard(Cluster& world) { world.hear(world.up.at(k_pod_there), false); }

} // namespace

TEST_CASE("TestUWPodUpdate: update status, update metadata, different uid, pPod not found, not "
          "created by syncer, vPod not found, host fake node missing, vNode not found") {
  run_rows<Cluster>(
      {
          {"update vPod status",
           pod_is_there,
           [](auto& world) {
             change(world.up, k_pod_there, "/status",
                    {{"phase", "Running"}, {"podIP", "10.0.0.1"}});
             heard(world);
           },
           {"PATCH pods/web/status"},
           {}},
          // CAPN copies them; upstream's labels and annotations are the platform's.
          {"update vPod metadata",
           pod_is_there,
           [](auto& world) {
             change(world.up, k_pod_there, "/metadata/labels/theirs", "x");
             annotate(world.up, k_pod_there, "theirs", "x");
             heard(world);
           },
           {},
           {}},
          // CAPN says so alone; upstream's is of an earlier pod and goes.
          {"vPod existing with different uid one",
           pod_is_there,
           [](auto& world) {
             remake(world.own, k_pod);
             heard(world);
           },
           {},
           {"DELETE pods/web", "POST pods"}},
          {"pPod not found",
           pod_is_there,
           [](auto& world) {
             const auto gone = world.up.at(k_pod_there);
             world.up.drop(k_pod_there);
             world.hear(gone, true);
           },
           {"DELETE pods/web"},
           {}},
          {"pPod not created by syncer",
           [](auto& world) { world.open("default"); },
           [](auto& world) {
             world.up.put(k_pod_there, pod_of());
             heard(world);
           },
           {},
           {}},
          // It stays, and an event says so.
          {"pPod not created by syncer, where the vPod exists",
           pod_is_there,
           [](auto& world) {
             drop_marks(world.up, k_pod_there);
             heard(world);
           },
           {"POST events", "PATCH pods/web/status"},
           {}},
          {"vPod not found",
           pod_is_there,
           [](auto& world) { world.own.drop(k_pod); },
           {},
           {"DELETE pods/web"}},
          // What has no node in the cluster is not upstream, whatever nodes there are.
          {"vPod not scheduled but super fakeNode is missing",
           [](auto& world) {
             auto pod = pod_of();
             pod["spec"].erase("nodeName");
             world.own.put(k_pod, pod);
           },
           [](auto& world) { world.work("n/n1"); },
           {},
           {}},
          // CAPN makes the node; the cluster has the nodes that its specification names.
          {"vPod scheduled but vNode not found",
           [](auto& world) { world.own.put(k_pod, pod_of(R"({"nodeName":"n9"})")); },
           {},
           {},
           {}},
      },
      false);
}

TEST_CASE("TestDWPodCreation, TestDWPodUpdate: new pod with nodeName, diff in container, diff in "
          "container added by webhook") {
  run_rows<Cluster>(
      {
          {"new Pod", {}, pod_is_there, {}, {"POST pods"}},
          // CAPN rejects it (see vPod unscheduled with provided nodename).
          {"new pod with nodeName", {}, pod_is_there, {}, {"POST pods"}},
          {"new Pod but already exists",
           pod_is_there,
           [](auto& world) { world.own.tell(k_pod); },
           {},
           {}},
          {"no diff", pod_is_there, heard, {}, {}},
          {"diff in container",
           pod_is_there,
           [](auto& world) { change(world.own, k_pod, "/spec/containers/0/image", "i:2"); },
           {},
           {"PUT pods/web"}},
          {"diff in container added by webhook",
           pod_is_there,
           [](auto& world) {
             change(world.up, k_pod_there, "/spec/containers/1",
                    {{"name", "sidecar"}, {"image", "s"}});
             heard(world);
           },
           {},
           {}},
          {"diff exists but uid is wrong",
           pod_is_there,
           [](auto& world) {
             remake(world.own, k_pod);
             change(world.own, k_pod, "/spec/containers/0/image", "i:2");
           },
           {},
           {"DELETE pods/web", "POST pods"}},
      },
      false);
}

TEST_CASE("TestUWPodDeletion: grace periods") {
  const auto leaves = [](FakeSide& side, const char* path, int grace) {
    change(side, path, "/metadata/deletionTimestamp", "2026-01-01T00:00:00Z");
    change(side, path, "/metadata/deletionGracePeriodSeconds", grace);
  };
  const auto upstream_leaves = [&](int grace) {
    return [&leaves, grace](auto& world) {
      leaves(world.up, k_pod_there, grace);
      heard(world);
    };
  };
  const auto both_leave = [&](int own, int up) {
    return [&leaves, own, up](auto& world) {
      leaves(world.own, k_pod, own);
      world.settle();
      leaves(world.up, k_pod_there, up);
      heard(world);
    };
  };
  // In both of the latter the cluster's went first, and upstream's with its grace.
  run_rows<Cluster>(
      {
          {"pPod deleting with grace period and vPod running",
           pod_is_there,
           upstream_leaves(50),
           {"DELETE pods/web"},
           {}},
          {"pPod and vPod both deleting with grace period",
           [](auto& world) {
             pod_is_there(world);
             world.up.set_fault([](const auto& call) // it has finalizers
                                -> std::optional<Result<http_client::Response>> {
               if (call.method != "DELETE") return std::nullopt;
               return refusal(409, "Conflict", "it goes already");
             });
           },
           both_leave(50, 50),
           {},
           {"DELETE pods/web"}},
          // CAPN gives the cluster's the other grace; each keeps its own.
          {"pPod and vPod both deleting with grace period, but different",
           [](auto& world) {
             pod_is_there(world);
             world.up.set_fault(
                 [](const auto& call) -> std::optional<Result<http_client::Response>> {
                   if (call.method != "DELETE") return std::nullopt;
                   return refusal(409, "Conflict", "it goes already");
                 });
           },
           both_leave(50, 40),
           {},
           {"DELETE pods/web"}},
      },
      false);
  SUBCASE("upstream's has the grace with which the cluster's goes") {
    Cluster world;
    pod_is_there(world);
    world.start();
    leaves(world.own, k_pod, 50);
    world.settle();
    const auto writes = world.up.writes();
    REQUIRE(writes.size() == 2);
    CHECK(writes[1].method == "DELETE");
    CHECK(writes[1].body["gracePeriodSeconds"] == 50);
  }
  SUBCASE("the cluster's goes with its own") {
    Cluster world;
    pod_is_there(world);
    world.start();
    leaves(world.up, k_pod_there, 50);
    heard(world);
    world.settle();
    const auto writes = world.own.writes();
    REQUIRE(writes.size() == 1);
    CHECK(writes[0].method == "DELETE");
    CHECK_FALSE(writes[0].body.contains("gracePeriodSeconds"));
  }
}

TEST_CASE("TestPodPatrol: status differs, vPod unscheduled no pPod, nodeName mismatch, normal, "
          "unscheduled with nodename") {
  const auto unscheduled = [](auto& world) {
    auto pod = pod_of();
    pod["spec"].erase("nodeName");
    world.own.put(k_pod, pod);
  };
  const auto leaves = [](auto& world) {
    change(world.own, k_pod, "/metadata/deletionTimestamp", "2026-01-01T00:00:00Z");
  };
  run_rows<Cluster>(
      {
          {"pPod exists, vPod does not exists",
           pod_is_there,
           [](auto& world) { world.own.drop(k_pod); },
           {},
           {"DELETE pods/web"}},
          {"pPod exists, vPod exists with different uid",
           pod_is_there,
           [](auto& world) { remake(world.own, k_pod); },
           {},
           {"DELETE pods/web", "POST pods"}},
          {"pPod exists, vPod exists with different spec",
           pod_is_there,
           [](auto& world) { change(world.own, k_pod, "/spec/containers/0/image", "i:2"); },
           {},
           {"PUT pods/web"}},
          {"pPod exists, vPod exists with different status",
           pod_is_there,
           [](auto& world) { change(world.up, k_pod_there, "/status/phase", "Running"); },
           {"PATCH pods/web/status"},
           {}},
          // CAPN lets the upstream's scheduler choose; here the cluster's does.
          {"vPod not scheduled, pPod does not exists", {}, unscheduled, {}, {}},
          {"vPod scheduled with DeletionTimestamp, pPod does not exists",
           pod_is_there,
           [&](auto& world) {
             leaves(world);
             world.up.drop(k_pod_there);
           },
           {"DELETE pods/web"},
           {}},
          {"vPod scheduled with DeletionTimestamp, pPod does not in delete",
           pod_is_there,
           leaves,
           {"DELETE pods/web"},
           {"DELETE pods/web"}},
          // It has run upstream: CAPN deletes it whether it has or not.
          {"vPod scheduled without DeletionTimestamp, pPod does not exists",
           pod_is_there,
           [](auto& world) {
             change(world.own, k_pod, "/status/startTime", "2026-01-01T00:00:00Z");
             world.up.drop(k_pod_there);
           },
           {"DELETE pods/web"},
           {}},
          // CAPN deletes both; an affinity holds upstream's to the node of the cluster's.
          {"vPod nodename is not equal to pPod nodename",
           pod_is_there,
           [](auto& world) { change(world.up, k_pod_there, "/spec/nodeName", "n2"); },
           {},
           {}},
          {"pPod vPod in normal case", pod_is_there, {}, {}, {}},
          // CAPN lets it be; a pod may name its node itself.
          {"vPod unscheduled with provided nodename", {}, pod_is_there, {}, {"POST pods"}},
      },
      true);
}

TEST_CASE("TestVNodeGC: bound, in gc map default grace, 0 grace, orphan, incorrectly in gc map") {
  // CAPN has a node as long as some pod is bound to it; here the specification names them.
  const auto leave_out = [](Cluster& world, const std::string& name) {
    auto wish = Cluster::wish();
    std::vector<std::string> nodes;
    for (const auto& each : *wish.nodes)
      if (each != name) nodes.push_back(each);
    wish.nodes = std::make_shared<const std::vector<std::string>>(std::move(nodes));
    world.cluster->set_wish(std::move(wish));
  };
  const auto nodes = [](Cluster& world) {
    world.kinds.insert(world.kinds.end(), {"n/", "r/", "o/"});
    for (const char* name : {"/api/v1/nodes/n1", "/api/v1/nodes/n2"})
      world.up.put(name, json::object());
    pod_is_there(world);
  };
  run_rows<Cluster>(
      {
          {"vNode is bound with a vPod",
           nodes,
           [](auto& world) {
             world.work("o/");
             world.work("r/n1");
           },
           {},
           {}},
          {"vNode is in gc map with default gc grace period",
           nodes,
           [&](auto& world) { leave_out(world, "n1"); },
           {"PATCH nodes/n1", "POST pods/web/eviction"},
           {}},
          {"vNode is in gc map with 0 gc grace period",
           nodes,
           [&](auto& world) { leave_out(world, "n2"); },
           {"PATCH nodes/n2", "DELETE nodes/n2", "DELETE leases/n2"},
           {}},
          {"orphan vNode with 0 gc grace period",
           nodes,
           [](auto& world) {
             json orphan = json::object();
             orphan["metadata"]["labels"][k_node_label] = "named";
             world.own.put("/api/v1/nodes/n9", orphan);
             world.work("o/");
           },
           {"PATCH nodes/n9", "DELETE nodes/n9", "DELETE leases/n9"},
           {}},
          {"vNode is INCORRECTLY in gc map with 0 gc grace period",
           nodes,
           [&](auto& world) {
             leave_out(world, "n2");
             world.cluster->set_wish(Cluster::wish());
           },
           {},
           {}},
      },
      false);
}

TEST_CASE("TestUWNode: not found, unknown to tenant") {
  const auto host = [](const char* ready) {
    json out = json::object();
    out["status"]["conditions"] = json::array({{{"type", "Ready"}, {"status", ready}}});
    out["status"]["allocatable"]["cpu"] = "4";
    return out;
  };
  constexpr const char* k_node = "/api/v1/nodes/n1";
  const auto there = [&](auto& world) {
    world.up.put(k_node, host("True"));
    world.kinds.emplace_back("n/");
  };
  run_rows<Cluster>(
      {
          // CAPN does nothing; the cluster hears that its node is not ready.
          {"pNode not found",
           there,
           [](auto& world) {
             world.up.drop(k_node);
             world.cluster->hear_node("n1");
           },
           {"PUT nodes/n1", "PATCH nodes/n1/status"},
           {}},
          {"pNode exists but does not belong to any tenant",
           there,
           [&](auto& world) {
             world.up.put("/api/v1/nodes/n7", host("True"));
             world.cluster->hear_node("n7");
           },
           {},
           {}},
          // CAPN makes it with the first pod on it.
          {"pNode exists but vNode does not exist",
           [](auto& world) { world.kinds.emplace_back("n/"); },
           [&](auto& world) {
             world.up.put(k_node, host("True"));
             world.cluster->hear_node("n1");
           },
           {"POST nodes"},
           {}},
          {"pNode vNode in normal state",
           there,
           [&](auto& world) {
             world.up.put(k_node, host("False"));
             world.cluster->hear_node("n1");
           },
           {"PATCH nodes/n1/status"},
           {}},
      },
      false);
}

// ---- namespaces ----

namespace {

constexpr const char* k_old = "/api/v1/namespaces/old";
constexpr const char* k_old_there = "/api/v1/namespaces/clu5t3-old";

/// A namespace on both sides, with nothing in it.
void space_is_there(Cluster& world) {
  world.own.put(k_old, json::object());
  world.open("old");
}
void look_at_spaces(Cluster& world) { world.work("a/"); }

} // namespace

TEST_CASE("TestDWNamespaceCreation, TestDWNamespaceDeletion: exists, other uid") {
  // CAPN gives each namespace one upstream; here it is made with the first thing in it.
  const auto with_config = [](auto& world) {
    auto pod = pod_of(R"({"volumes":[{"name":"v","configMap":{"name":"conf"}}]})");
    world.own.put(k_pod, pod);
  };
  run_rows<Cluster>(
      {
          {"new namespace", {}, [](auto& world) { world.own.put(k_old, json::object()); }, {}, {}},
          {"new namespace with labels",
           {},
           [&](auto& world) {
             world.own.put(k_space, {{"metadata", {{"labels", {{"team", "blue"}}}}}});
             with_config(world);
           },
           {},
           {"POST pods", "PATCH namespaces/clu5t3-default"}},
          {"new namespace but already exists", space_is_there, {}, {}, {}},
          // CAPN says so; the one upstream is that of the name, and its objects are looked at.
          {"new namespace but existing different uid one",
           space_is_there,
           [](auto& world) { remake(world.own, k_old); },
           {},
           {}},
          {"delete namespace",
           space_is_there,
           [](auto& world) { world.own.drop(k_old); },
           {},
           {"DELETE namespaces/clu5t3-old"}},
          {"delete namespace but already gone",
           space_is_there,
           [](auto& world) {
             world.own.drop(k_old);
             world.up.drop(k_old_there);
           },
           {},
           {}},
          // Who it belongs to says the label.
          {"delete namespace but existing different uid one",
           space_is_there,
           [](auto& world) {
             world.own.drop(k_old);
             change(world.up, k_old_there, "/metadata/labels",
                    {{std::string(tenants::k_tenant_label), "other1"}});
           },
           {},
           {}},
      },
      false, look_at_spaces);
}

TEST_CASE("TestNamespacePatrol: not by vc, vNS gone, uid, pNS gone, owned but not by syncer, "
          "filter cases") {
  const auto label = [](auto& world, const char* value) {
    change(world.up, k_old_there, "/metadata/labels",
           {{std::string(tenants::k_tenant_label), value}});
  };
  run_rows<Cluster>(
      {
          {"pNS not created by vc",
           {},
           [](auto& world) { world.up.put(k_old_there, json::object()); },
           {},
           {}},
          {"pNS exists, vNS does not exists",
           space_is_there,
           [](auto& world) { world.own.drop(k_old); },
           {},
           {"DELETE namespaces/clu5t3-old"}},
          {"pNS exists, vNS exists with different uid",
           space_is_there,
           [](auto& world) { remake(world.own, k_old); },
           {},
           {}},
          // It is made when something in it is to be there.
          {"vNS exists, pNS does not exists",
           space_is_there,
           [](auto& world) { world.up.drop(k_old_there); },
           {},
           {}},
          {"vNS pNS in normal case", space_is_there, {}, {}, {}},
          {"pNS's owner vc exists but not managed by syncer",
           space_is_there,
           [&](auto& world) {
             world.own.drop(k_old);
             label(world, "other1");
           },
           {},
           {}},
          {"pNS deleted with filter",
           space_is_there,
           [](auto& world) {
             world.own.drop(k_old);
             change(world.up, k_old_there, "/metadata/deletionTimestamp", "2026-01-01T00:00:00Z");
           },
           {},
           {}},
          {"pNS without label not found with filtering for delete",
           space_is_there,
           [](auto& world) {
             world.own.drop(k_old);
             drop_marks(world.up, k_old_there);
           },
           {},
           {}},
      },
      true);
}
