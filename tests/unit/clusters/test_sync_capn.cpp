// SPDX-License-Identifier: Apache-2.0
// Tables of Virtual Cluster (CAPN), pkg/syncer/resources, under the names of their tests and rows:
// what is sent to both API servers in each case of what pods need. Where
// zood decides otherwise than CAPN the row says so. Tables about one object alone stand in
// test_sync_step.cpp, test_sync_mirror.cpp and test_sync_tables.cpp; what is left out stands in
// docs/virtual-clusters.md.
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_events.hpp"
#include "daemon/clusters/sync/shared_classes.hpp"
#include "daemon/clusters/sync/volumes.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "tests/unit/clusters/sync_rows.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters::sync;
using namespace zoo::tests;
using nlohmann::json;
using zoo::clusters::k_uid_annotation;

// ---- services and endpoints ----

namespace {

void service_is_there(MirrorRoom& world) { world.own.put(k_service, service_of()); }
void hear_service(MirrorRoom& world) {
  const auto object = world.up.at(k_service_there);
  world.mirror->hear(static_cast<std::size_t>(mirror_kind_of("services")), "default", "web",
                     object.is_null() ? "" : kube::text_of(object), object.is_null());
}
void of_an_earlier_one(MirrorRoom& world) {
  annotate(world.up, k_service_there, k_uid_annotation, "v0");
}
const json k_ingress = {{"loadBalancer", {{"ingress", {{{"ip", "192.0.2.1"}}}}}}};

} // namespace

TEST_CASE("TestDWServiceCreation, TestDWServiceDeletion, TestDWServiceUpdate: new, with clusterIP, "
          "exists, other uid, delete, diff in selector, uid wrong") {
  run_rows<MirrorRoom>(
      {
          {"new service", {}, service_is_there, {}, {"POST services"}},
          {"new service with clusterIP",
           {},
           [](auto& world) {
             auto service = service_of();
             service["spec"]["clusterIP"] = "10.96.0.7";
             world.own.put(k_service, service);
           },
           {},
           {"POST services"}},
          {"new service but already exists",
           service_is_there,
           [](auto& world) { world.own.tell(k_service); },
           {},
           {}},
          // CAPN says so; upstream's is of an earlier Service and goes.
          {"new serivce but existing different uid one",
           service_is_there,
           [](auto& world) {
             of_an_earlier_one(world);
             hear_service(world);
           },
           {},
           {"DELETE services/web", "POST services"}},
          {"delete service",
           service_is_there,
           [](auto& world) { world.own.drop(k_service); },
           {},
           {"DELETE services/web"}},
          {"delete service but already gone",
           service_is_there,
           [](auto& world) {
             world.up.drop(k_service_there);
             hear_service(world);
             world.own.drop(k_service);
           },
           {},
           {}},
          // An earlier one of the cluster's goes, too.
          {"delete service but existing different uid one",
           service_is_there,
           [](auto& world) {
             of_an_earlier_one(world);
             hear_service(world);
             world.own.drop(k_service);
           },
           {},
           {"DELETE services/web"}},
          {"no diff",
           service_is_there,
           [](auto& world) { change(world.own, k_service, "/status/conditions", json::array()); },
           {},
           {}},
          {"diff in selector",
           service_is_there,
           [](auto& world) { change(world.own, k_service, "/spec/selector/app", "web"); },
           {},
           {"PUT services/web"}},
          {"diff exists but uid is wrong",
           service_is_there,
           [](auto& world) {
             change(world.own, k_service, "/spec/selector/app", "web");
             of_an_earlier_one(world);
             hear_service(world);
           },
           {},
           {"DELETE services/web", "POST services"}},
      },
      false);
  SUBCASE("new service with clusterIP: it is the cluster's alone") {
    MirrorRoom world;
    world.start();
    auto service = service_of();
    service["spec"]["clusterIP"] = "10.96.0.7";
    world.own.put(k_service, service);
    world.settle();
    CHECK(world.up.at(k_service_there)["spec"]["clusterIP"] == "10.96.0.7");
  }
}

TEST_CASE("TestUWService: not found, not by syncer, vService missing, uid, no diff, status diff") {
  run_rows<MirrorRoom>(
      {
          {"pService not found",
           service_is_there,
           [](auto& world) {
             world.up.drop(k_service_there);
             hear_service(world);
           },
           {},
           {"POST services"}},
          {"pService not created by syncer",
           {},
           [](auto& world) {
             world.up.put(k_service_there, service_of());
             hear_service(world);
           },
           {},
           {}},
          // It stays, and an event says so.
          {"pService not created by syncer, where the vService exists",
           service_is_there,
           [](auto& world) {
             drop_marks(world.up, k_service_there);
             hear_service(world);
           },
           {"POST events"},
           {}},
          {"pService exists but vService does not exist",
           service_is_there,
           [](auto& world) {
             world.own.drop(k_service);
             hear_service(world);
           },
           {},
           {"DELETE services/web"}},
          {"pService exists, vService exists with different uid",
           service_is_there,
           [](auto& world) {
             remake(world.own, k_service);
             hear_service(world);
           },
           {},
           {"DELETE services/web", "POST services"}},
          {"pService exists, vService exists with no diff", service_is_there, hear_service, {}, {}},
          {"pService exists, vService exists with different status",
           service_is_there,
           [](auto& world) {
             change(world.up, k_service_there, "/status", k_ingress);
             hear_service(world);
           },
           {"PATCH services/web/status"},
           {}},
      },
      false);
}

TEST_CASE("TestServicePatrol") {
  run_rows<MirrorRoom>(
      {
          {"pService not created by vc",
           {},
           [](auto& world) { world.up.put(k_service_there, service_of()); },
           {},
           {}},
          {"pService exists, vService does not exists",
           service_is_there,
           [](auto& world) { world.own.drop(k_service); },
           {},
           {"DELETE services/web"}},
          {"pService exists, vService exists with different uid",
           service_is_there,
           [](auto& world) { remake(world.own, k_service); },
           {},
           {"DELETE services/web", "POST services"}},
          {"pService exists, vService exists with different spec",
           service_is_there,
           [](auto& world) { change(world.own, k_service, "/spec/ports/0/port", 81); },
           {},
           {"PUT services/web"}},
          {"pService exists, vService exists with different status",
           service_is_there,
           [](auto& world) { change(world.up, k_service_there, "/status", k_ingress); },
           {"PATCH services/web/status"},
           {}},
          {"pService exists, vService exists with no diff", service_is_there, {}, {}, {}},
          {"vService exists, pService does not exists",
           service_is_there,
           [](auto& world) { world.up.drop(k_service_there); },
           {},
           {"POST services"}},
      },
      true);
}

TEST_CASE("TestDWEndpointsUpdate: diff targetRef, diff address, uid") {
  static constexpr const char* k_slice =
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web-1";
  static constexpr const char* k_slice_there =
      "/apis/discovery.k8s.io/v1/namespaces/clu5t3-default/endpointslices/web-1";
  const auto there = [](auto& world) {
    world.own.put(k_slice, json::parse(R"({"addressType":"IPv4",
      "metadata":{"labels":{"kubernetes.io/service-name":"web"}},
      "endpoints":[{"addresses":["192.0.2.1"],"targetRef":{"kind":"Pod","name":"a"}}]})"));
  };
  run_rows<MirrorRoom>(
      {
          {"no diff", there, [](auto& world) { world.own.tell(k_slice); }, {}, {}},
          {"diff in targetRef",
           there,
           [](auto& world) { change(world.own, k_slice, "/endpoints/0/targetRef/name", "b"); },
           {},
           {"PUT endpointslices/web-1"}},
          {"diff in subset address",
           there,
           [](auto& world) { change(world.own, k_slice, "/endpoints/0/addresses/0", "192.0.2.2"); },
           {},
           {"PUT endpointslices/web-1"}},
          {"diff in uid",
           there,
           [](auto& world) {
             annotate(world.up, k_slice_there, k_uid_annotation, "v0");
             world.mirror->hear(static_cast<std::size_t>(mirror_kind_of("endpointslices")),
                                "default", "web-1", kube::text_of(world.up.at(k_slice_there)),
                                false);
           },
           {},
           {"DELETE endpointslices/web-1", "POST endpointslices"}},
      },
      false);
}

// ---- volumes ----

namespace {

constexpr const char* k_claim = "/api/v1/namespaces/default/persistentvolumeclaims/data";
constexpr const char* k_claim_there =
    "/api/v1/namespaces/clu5t3-default/persistentvolumeclaims/data";

const std::string k_volume_name =
    std::string(k_volume).substr(std::string(k_volume).rfind('/') + 1);
const std::string k_patch_volume = "PATCH persistentvolumes/" + k_volume_name;

void claim_is_there(MirrorRoom& world) {
  world.own.put(k_claim, json::parse(R"({"spec":{"storageClassName":"fast",
    "resources":{"requests":{"storage":"1Gi"}}}})"));
}
void hear_claim(MirrorRoom& world) {
  const auto object = world.up.at(k_claim_there);
  world.mirror->hear(static_cast<std::size_t>(mirror_kind_of("persistentvolumeclaims")), "default",
                     "data", object.is_null() ? "" : kube::text_of(object), object.is_null());
}
/// Upstream's claim is bound to a volume of `claim_uid`; "": of its own.
void bind(MirrorRoom& world, const std::string& claim_uid = "", const char* capacity = "1Gi") {
  const auto uid = claim_uid.empty() ? world.up.uid_of(k_claim_there) : claim_uid;
  world.up.put(k_volume,
               {{"spec", {{"capacity", {{"storage", capacity}}}, {"claimRef", {{"uid", uid}}}}}});
  change(world.up, k_claim_there, "/spec/volumeName", k_volume_name);
  change(world.up, k_claim_there, "/status",
         {{"phase", "Bound"}, {"capacity", {{"storage", capacity}}}});
  hear_claim(world);
}
void bound_claim_is_there(MirrorRoom& world) {
  claim_is_there(world);
  world.start();
  bind(world);
  world.settle();
  world.stop();
}
void sweep_all(MirrorRoom& world) {
  std::string swept;
  (void)sweep_volumes(world.room, swept);
}

} // namespace

TEST_CASE("TestUWPVUpdate, TestUWPVCreation: not bound, PVC missing, unknown PVC, uid, spec") {
  run_rows<MirrorRoom>(
      {
          {"pPV not found",
           claim_is_there,
           [](auto& world) {
             change(world.up, k_claim_there, "/spec/volumeName", k_volume_name);
             hear_claim(world);
           },
           {},
           {}},
          {"pPV not ready",
           claim_is_there,
           [](auto& world) {
             world.up.put(k_volume, {{"spec", json::object()}});
             change(world.up, k_claim_there, "/spec/volumeName", k_volume_name);
             hear_claim(world);
           },
           {},
           {}},
          // The claim is made anew; nobody looks for volumes without one.
          {"pPV bound but pPVC missing",
           bound_claim_is_there,
           [](auto& world) {
             world.own.drop(k_volume);
             world.up.drop(k_claim_there);
             hear_claim(world);
           },
           {},
           {"POST persistentvolumeclaims"}},
          {"pPV bound to a unknown pPVC",
           claim_is_there,
           [](auto& world) { bind(world, "another"); },
           {},
           {}},
          {"pPV exists, vPVC do not exists",
           bound_claim_is_there,
           [](auto& world) { world.own.drop(k_claim); },
           {},
           {"DELETE persistentvolumeclaims/data"}},
          // The cluster's own of that name stays as it is.
          {"pPV exists, vPV exists with different uid",
           claim_is_there,
           [](auto& world) {
             world.own.put(k_volume, {{"spec", {{"capacity", {{"storage", "5Gi"}}}}}});
             bind(world);
           },
           {},
           {}},
          {"pPV exists, vPV exists with different spec",
           bound_claim_is_there,
           [](auto& world) { bind(world, "", "2Gi"); },
           {k_patch_volume, "PATCH persistentvolumeclaims/data/status"},
           {}},
          {"pPV exists, vPV does not exists",
           claim_is_there,
           [](auto& world) { bind(world); },
           {"POST persistentvolumes", k_patch_volume + "/status",
            "PATCH persistentvolumeclaims/data", "PATCH persistentvolumeclaims/data/status"},
           {}},
      },
      false);
}

TEST_CASE("TestPVPatrol") {
  run_rows<MirrorRoom>(
      {
          {"pPV exists, vPV and vPVC does not exists",
           {},
           [](auto& world) { world.up.put(k_volume, json::object()); },
           {},
           {}},
          {"vPV exists, pPV does not exists",
           bound_claim_is_there,
           [](auto& world) {
             world.own.drop(k_claim);
             world.up.drop(k_claim_there);
             world.up.drop(k_volume);
           },
           {k_patch_volume + "/status", "DELETE persistentvolumes/" + k_volume_name},
           {}},
          // Upstream's goes first.
          {"vPV exists, and pPV goes",
           bound_claim_is_there,
           [](auto& world) {
             world.own.drop(k_claim);
             world.up.drop(k_claim_there);
           },
           {},
           {}},
      },
      true, sweep_all);
}

// ---- classes and events ----

TEST_CASE("TestStorageClassPatrol, TestPriorityClassPatrol: public, not public") {
  struct ClassRow {
    const char* name;
    bool shared, there; ///< is it public, and upstream?
    int own;            ///< what the cluster has: 0 none, 1 upstream's, 2 another of upstream's
    bool of_its_own;    ///< it is the cluster's, not upstream's
    Lines sent;         ///< of "storageclasses"; those of "priorityclasses" are the same
  };
  const ClassRow rows[] = {
      {"pStorageClass not public", false, true, 0, false, {}},
      {"pStorageClass exists, vStorageClass does not exists", true, true, 0, false, {"POST "}},
      // It is not public any more.
      {"pStorageClass not found, vStorageClass exists", false, false, 1, false, {"DELETE /fast"}},
      {"pStorageClass exists, vStorageClass exists with different spec",
       true,
       true,
       2,
       false,
       {"PUT /fast"}},
      {"vPriorityClass not public", false, false, 2, true, {}},
      {"pSC exists, vSC exists", true, true, 1, false, {}},
      // CAPN overwrites it; the cluster's own stays.
      {"pSC exists, and the cluster has its own", true, true, 2, true, {"POST "}},
  };
  using translate::Overlay;
  struct Kind {
    ClassKind kind;
    const char* member;
  };
  const Kind kinds[] = {
      {{Overlay::storage_class, "storage.k8s.io", "v1", "storageclasses", "StorageClass"},
       "provisioner"},
      {{Overlay::priority_class, "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass"},
       "value"},
  };
  for (const auto& [kind, member] : kinds)
    for (const auto& row : rows) {
      const std::string name = row.name, collection = kind.collection();
      CAPTURE(name);
      CAPTURE(collection);
      Room world;
      const auto path = collection + "/fast";
      json there = {{"metadata", {{"name", "fast"}}}, {member, "a"}};
      if (row.there) world.up.put(path, there);
      if (row.own == 2) there[member] = "b";
      if (row.own != 0) world.own.put(path, row.of_its_own ? there : shown_class(kind, there));
      translate::SharedNames shared;
      if (row.shared) shared.classes[static_cast<std::size_t>(kind.overlay)].insert("fast");
      const auto before = world.own.at(path);
      SharedClasses classes(world.room);
      CHECK(classes.work(std::make_shared<const translate::SharedNames>(std::move(shared))));
      Lines wanted;
      for (const auto& line : row.sent)
        wanted.push_back(line.substr(0, line.find(' ') + 1) + collection +
                         line.substr(line.find(' ') + 1));
      CHECK(text_of(world.own.lines()) == text_of(wanted));
      if (row.of_its_own) CHECK(world.own.at(path) == before);
      CHECK(world.up.lines().empty());
    }
}

TEST_CASE("TestUWEvent: only accepted kinds and types, vPod missing") {
  struct EventRow {
    const char* name;
    const char* space;
    const char *kind, *object, *uid, *reason; ///< of what it is about, upstream
    bool known;                               ///< the cluster has the Event already
    Lines own;
  };
  const EventRow rows[] = {
      {"pEvent not related to tenant", "kube-system", "Pod", "web", "p1", "Pulled", false, {}},
      {"pEvent exists but vPod doesn't exists",
       "clu5t3-default",
       "Pod",
       "other",
       "p1",
       "Pulled",
       false,
       {}},
      {"pEvent of an earlier pod", "clu5t3-default", "Pod", "web", "p0", "Pulled", false, {}},
      // The cluster's scheduler has said it.
      {"pEvent exists but not an accepted event",
       "clu5t3-default",
       "Pod",
       "web",
       "p1",
       "Scheduled",
       false,
       {}},
      {"pEvent exists but vEvent doesn't exists, type pod",
       "clu5t3-default",
       "Pod",
       "web",
       "p1",
       "Pulled",
       false,
       {"POST events"}},
      // CAPN shows it; here the cluster's own controllers speak of Services.
      {"pEvent exists but vEvent doesn't exists, type service",
       "clu5t3-default",
       "Service",
       "other",
       "s1",
       "Pulled",
       false,
       {}},
      {"pEvent exists and vEvent exists",
       "clu5t3-default",
       "Pod",
       "web",
       "p1",
       "Pulled",
       true,
       {"POST events", "PATCH events/e.1"}},
  };
  for (const auto& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    Room world;
    PodTable pods;
    PodFacts facts;
    facts.here = PodHere{.uid = "v1", .hash = "h"};
    pods.note_here("default/web", std::move(facts));
    pods.set_there("default/web", PodThere{.uid = "p1", .owner = "v1", .hash = "h"});
    if (row.known)
      world.own.put("/api/v1/namespaces/default/events/e.1", {{"involvedObject", {{"uid", "v1"}}}});
    PodEvents events(world.room, pods);
    events.hear(json{
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata", {{"name", "e.1"}, {"namespace", row.space}}},
        {"involvedObject",
         {{"kind", row.kind}, {"name", row.object}, {"namespace", row.space}, {"uid", row.uid}}},
        {"reason", row.reason},
        {"message", "m"},
        {"count", 1}}
                    .dump());
    CHECK(events.work());
    CHECK(sent(world.own, 0) == text_of(row.own));
    CHECK(world.up.lines().empty());
  }
}

// ---- names ----

TEST_CASE("TestToClusterKey: normal vc") {
  // CAPN makes a key of the names and the UID of its object; an ID is the beginning of each name.
  CHECK(clusters::upstream_namespace(k_id, "default") == "clu5t3-default");
  CHECK(clusters::cluster_namespace(k_id, "clu5t3-default") == "default");
  for (const char* other : {"clu5t3", "clu5t3-", "clu5t4-default", "clu5t3x-default", "default"}) {
    const std::string name = other;
    CAPTURE(name);
    CHECK_FALSE(clusters::cluster_namespace(k_id, name));
  }
}
