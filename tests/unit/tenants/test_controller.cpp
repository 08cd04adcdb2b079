// SPDX-License-Identifier: Apache-2.0
#include "common/kube/kubeconfig.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;

namespace {

bool ready(tenants::TenantService& service, const std::string& id) {
  const auto tenant = service.get(id);
  return tenant && tenant->phase == api::Phase::ready;
}

bool gone(tenants::TenantService& service, const std::string& id) {
  const auto tenant = service.get(id);
  return !tenant && tenant.error().code() == Code::not_found;
}

} // namespace

TEST_CASE("create checks the ID, reserved ones and what exists") {
  Room room;
  const auto service = room.service();
  for (const std::string id : {"", "foo", "foofoo1", "Foofoo", "foo-oo", "system",
                               "f\xc3\xb6"
                               "foo"}) {
    CAPTURE(id);
    CHECK(service->create(wanted(id), false).error().code() == Code::invalid);
  }
  const auto dry = must(service->create(wanted("foofoo"), true));
  CHECK(dry.phase == api::Phase::pending);
  CHECK(gone(*service, "foofoo"));
  must(service->create(wanted("foofoo"), false));
  CHECK(service->create(wanted("foofoo"), false).error().code() == Code::already_exists);
}

TEST_CASE("a created tenant is a room with its fences, and a sealed key") {
  Room room;
  const auto service = room.service();
  const auto tenant = must(service->create(wanted("123456"), false));
  REQUIRE(eventually([&] { return ready(*service, "123456"); }));
  for (const std::string space : {"123456-default", "123456-kube-system"}) {
    const auto labels = room.upstream.at("/api/v1/namespaces/" + space)["metadata"]["labels"];
    CHECK(labels["tenant.kubezoo.io/id"] == "123456");
    CHECK(room.upstream.at(tenants::binding_path(space))["subjects"][0]["name"] == "zoo:123456");
    CHECK(room.upstream.has("/api/v1/namespaces/" + space + "/serviceaccounts/default"));
  }
  // What nobody needs to be let in comes after that.
  REQUIRE(eventually([&] { return has_condition(*service, "123456", "InClusterAccess"); }));
  CHECK(room.upstream.at("/apis/discovery.k8s.io/v1/namespaces/123456-default/endpointslices/"
                         "kubernetes")["endpoints"][0]["addresses"][0] == "192.0.2.7");
  CHECK(room.upstream.at("/api/v1/namespaces/123456-default/endpoints/"
                         "kubernetes")["subsets"][0]["addresses"][0]["ip"] == "192.0.2.7");
  const std::string system = "/namespaces/123456-kube-system/";
  CHECK(
      room.upstream.at("/api/v1" + system +
                       "configmaps/extension-apiserver-authentication")["data"]["client-ca-file"] ==
      room.pki->ca_pem());
  CHECK(room.upstream.has("/apis/rbac.authorization.k8s.io/v1" + system +
                          "roles/extension-apiserver-authentication-reader"));
  const auto record = must(room.store->get(tenants::k_credential_kind, "123456"));
  CHECK(record.value.find("PRIVATE KEY") == std::string::npos);
  const auto access = must(kube::parse_kubeconfig(
      must(crypto::base64_decode(must(service->stored_kubeconfig("123456"))))));
  CHECK(access.cluster == "123456");
  CHECK(access.context == "123456");
  CHECK(access.user == "123456-admin");
  CHECK(access.server == "https://192.0.2.7:7443");

  room.upstream.put("/api/v1/namespaces/123456-default/configmaps/kube-root-ca.crt", {});
  room.upstream.put("/api/v1/namespaces/123456-kube-system/configmaps/kube-root-ca.crt", {});
  CHECK(eventually([&] {
    const auto now = must(service->get("123456"));
    const auto* populated = now.condition("Populated");
    return populated != nullptr && populated->status == "True";
  }));
}

TEST_CASE(
    "a tenant is left alone while its drift is told, and looked after again and again if not") {
  Room room;
  const auto looks = [&] { // each asks for the Service
    std::size_t count = 0;
    for (const auto& request : room.upstream.requests())
      count += request.find("GET") == 0 &&
               request.find("/foofoo-default/services/kubernetes") != std::string::npos;
    return count;
  };
  {
    const auto service = room.service();
    must(service->create(wanted("foofoo"), false));
    for (const auto* space : {"default", "kube-system"})
      room.upstream.put(
          fmt::format("/api/v1/namespaces/foofoo-{}/configmaps/kube-root-ca.crt", space), {});
    REQUIRE(eventually([&] {
      const auto now = must(service->get("foofoo"));
      const auto* populated = now.condition("Populated");
      return populated != nullptr && populated->status == "True" &&
             now.condition(std::string(tenants::k_in_cluster)) != nullptr;
    }));
  }
  auto settings = Room::settings();
  settings.resync = std::chrono::milliseconds(1);
  settings.resync_told = std::chrono::hours(1);
  std::atomic<bool> told = true;
  const auto before = looks();
  const auto service = room.service(settings, [&] { return told.load(); });
  REQUIRE(eventually([&] { return looks() == before + 1; })); // at the start
  must(service->create(wanted("barbar"), false));
  REQUIRE(eventually([&] { return ready(*service, "barbar"); }));
  CHECK(looks() == before + 1);
  service->touch_all();
  REQUIRE(eventually([&] { return looks() == before + 2; }));
  told = false;
  service->touch_all();
  CHECK(eventually([&] { return looks() > before + 6; }));
}

TEST_CASE("exported credentials: names are checked, super-users are named") {
  Room room;
  const auto service = room.service();
  must(service->create(wanted("foofoo"), false));
  tenants::KubeconfigRequest request;
  request.user = "alice";
  request.groups = {"devs"};
  request.administrator = false;
  const auto access = must(kube::parse_kubeconfig(must(service->kubeconfig("foofoo", request))));
  const auto who = must(tenants::identity_of(
      must(crypto::Certificate::from_pem(access.credentials.client_cert_pem))));
  CHECK(who.user == "alice");
  CHECK(who.groups == std::vector<std::string>{"devs"});
  request.groups = {"system:masters"};
  CHECK(service->kubeconfig("foofoo", request).error().code() == Code::invalid);
  request.groups = {"zoo:cluster-admins"};
  CHECK(service->kubeconfig("foofoo", request).error().code() == Code::invalid);
  request.groups = {};
  request.user = "system:admin";
  CHECK(service->kubeconfig("foofoo", request).error().code() == Code::invalid);
  request.user = "a\nb";
  CHECK(service->kubeconfig("foofoo", request).error().code() == Code::invalid);
  request.user = "alice";
  request.ttl = std::chrono::seconds(-1);
  CHECK(service->kubeconfig("foofoo", request).error().code() == Code::invalid);
  CHECK(service->kubeconfig("nobody", {}).error().code() == Code::not_found);
}

TEST_CASE("each request upstream may fail once: the tenant comes and goes all the same") {
  Room room;
  std::set<std::string> failed; // only touched by the upstream, under its lock
  std::atomic<int> round = 0;
  room.upstream.set_fault([&](const std::string& method, const std::string& path) {
    return failed.insert(fmt::format("{}{}{}", round.load(), method, path)).second
               ? std::optional(status(503, "ServiceUnavailable", "try again"))
               : std::nullopt;
  });
  const auto service = room.service();
  const auto try_create = [&] { return service->create(wanted("foofoo"), false).has_value(); };
  REQUIRE(eventually(try_create));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  room.upstream.put("/apis/scheduling.k8s.io/v1/priorityclasses/foofoo-x",
                    {{"metadata", {{"finalizers", {"example.com/stuck"}}}}});
  room.upstream.put("/apis/scheduling.k8s.io/v1/priorityclasses/foofoox", {});
  ++round;
  must(service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK(room.upstream.size() == 1);
  CHECK(room.upstream.has("/apis/scheduling.k8s.io/v1/priorityclasses/foofoox"));
  CHECK_FALSE(room.store->get(tenants::k_credential_kind, "foofoo"));
}

TEST_CASE("what others define is not looked through for a tenant that goes") {
  Room room;
  const auto service = room.service();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  const std::string space = "/api/v1/namespaces/foofoo-stuck";
  room.upstream.put(space, {{"metadata",
                             {{"labels", {{"tenant.kubezoo.io/id", "foofoo"}}},
                              {"finalizers", {"example.com/stuck"}}}},
                            {"spec", {{"finalizers", {"kubernetes"}}}}});
  must(service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK_FALSE(room.upstream.has(space));
  const auto requests = room.upstream.requests();
  const auto asked = [&](std::string_view part) {
    return std::any_of(requests.begin(), requests.end(), [&](const std::string& request) {
      return request.find(part) != std::string::npos;
    });
  };
  CHECK(asked("/apis/foofoo-own.example.com/v1/namespaces/foofoo-stuck/gizmos"));
  CHECK(asked("/api/v1/namespaces/foofoo-stuck/configmaps"));
  CHECK_FALSE(asked("gadgets"));
}

TEST_CASE("volumes of a tenant that goes: others' are read once more when none is known") {
  Room room;
  const std::string volumes = "/api/v1/persistentvolumes", held = volumes + "/pvc-held";
  const auto claimed = [](const std::string& space) {
    return json{{"spec", {{"claimRef", {{"namespace", space}}}}}};
  };
  constexpr int k_others = 600; // two pages
  for (int i = 0; i < k_others; ++i)
    room.upstream.put(fmt::format("{}/pvc-{:03}", volumes, i), claimed("barbar-default"));
  tenants::ControllerParts parts{*room.store, *room.pki, room.sealer,
                                 [&] { return room.upstream.connect(); }};
  std::atomic<bool> furnished = false;
  parts.claimed_volumes = [&furnished](std::string_view) {
    return furnished ? tenants::Names{"pvc-held"} : tenants::Names{};
  };
  parts.attachments = [](std::string_view volume) {
    return volume == "pvc-held/" ? tenants::Names{"csi-1"} : tenants::Names{};
  };
  tenants::TenantServiceImpl service(std::move(parts), Room::settings());
  must(service.start());
  must(service.create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(service, "foofoo"); }));
  auto stuck = claimed("foofoo-default");
  stuck["metadata"]["finalizers"] = {"example.com/storage"};
  room.upstream.put(held, stuck);
  furnished = true;
  room.upstream.put(volumes + "/pvc-late", claimed("foofoo-default")); // is not known
  room.upstream.put("/apis/storage.k8s.io/v1/volumeattachments/csi-1",
                    {{"spec", {{"source", {{"persistentVolumeName", "pvc-held"}}}}}});
  const auto asked = [&](const std::string& path) {
    const auto requests = room.upstream.requests();
    return std::count(requests.begin(), requests.end(), "GET " + path);
  };
  const auto before = asked(volumes);
  must(service.remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return asked(held) >= 2; })); // passes, each of which finds it
  CHECK(asked(volumes) - before <= asked(held) + 1);     // one page each, of the prefix
  CHECK(room.upstream.has(volumes + "/pvc-late"));
  room.upstream.put(held, claimed("foofoo-default"));
  REQUIRE(eventually([&] { return gone(service, "foofoo"); }));
  CHECK(room.upstream.size() == k_others);
  CHECK(asked(volumes) - before >= asked(held) + 2);
  CHECK(asked("/apis/storage.k8s.io/v1/volumeattachments") <= 1); // of the late one
}

TEST_CASE("what has taken the name of an object that goes with its tenant stays") {
  Room room;
  const auto service = room.service();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  const std::string volume = "/api/v1/persistentvolumes/foofoo-disk";
  const std::string event = "/api/v1/namespaces/default/events/foofoo-x.17";
  const std::string space = "/api/v1/namespaces/foofoo-team";
  const std::string priority = "/apis/scheduling.k8s.io/v1/priorityclasses/foofoo-high";
  room.upstream.put(volume, json::object());
  room.upstream.put(event, {{"involvedObject", {{"kind", "Namespace"}, {"name", "foofoo-x"}}}});
  const json labelled = {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "foofoo"}}}}}};
  room.upstream.put(space, labelled);
  room.upstream.put(priority, json::object());
  // Between the look and the deletion others take the names.
  room.upstream.remake_before_delete(volume,
                                     {{"spec", {{"claimRef", {{"namespace", "barbar-team"}}}}}});
  room.upstream.remake_before_delete(event, {{"involvedObject", {{"kind", "Node"}}}});
  room.upstream.remake_before_delete(space, json::object());
  room.upstream.remake_before_delete(priority, json::object());
  must(service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK(room.upstream.has(volume));
  CHECK(room.upstream.has(event));
  CHECK(room.upstream.has(space));
  // What still is the tenant's is seen by the next pass.
  CHECK_FALSE(room.upstream.has(priority));
  const auto requests = room.upstream.requests();
  CHECK(std::count(requests.begin(), requests.end(), "DELETE " + priority) == 2);
  CHECK(room.upstream.size() == 3);
}

TEST_CASE("what a webhook of a tenant holds is waited for, and goes with the tenant") {
  Room room;
  const std::string hooks =
      "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/foofoo-hook";
  const std::string definition = std::string(tenants::k_crds) + "/gizmos.foofoo-own.example.com";
  const std::string late = "/apis/scheduling.k8s.io/v1/priorityclasses/foofoo-late";
  auto settings = Room::settings();
  settings.held = std::chrono::hours(1);
  auto service = room.service(settings);
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  room.upstream.put(definition, {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "foofoo"}}}}}});
  SUBCASE("which it has when it is to go") { room.upstream.put(hooks, json::object()); }
  SUBCASE("which it has just taken away itself") {
    service->has_webhooks("foofoo");
    REQUIRE(eventually([&] { return must(service->get("foofoo")).had_webhooks; }));
  }

  must(service->remove("foofoo", {}, false));
  const auto waits = [&] {
    return must(service->get("foofoo")).waiting_for.find("webhooks hold") != std::string::npos;
  };
  REQUIRE(eventually(waits));
  CHECK_FALSE(room.upstream.has(hooks));
  CHECK_FALSE(room.upstream.has("/api/v1/namespaces/foofoo-default"));
  CHECK(room.upstream.has(definition)); // of what may come
  room.upstream.put(late, json::object());
  CHECK(service->create(wanted("foofoo"), false).error().code() == Code::already_exists);

  service.reset();
  must(tenants::change_tenant(*room.store, "foofoo", {}, [&](api::Tenant& tenant) {
    CHECK(tenants::parse_time(tenant.held_until) > std::chrono::system_clock::now());
    tenant.held_until = tenants::now_text();
    return true;
  }));
  service = room.service(settings);
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK(room.upstream.size() == 0);
}

TEST_CASE(
    "nothing holds a tenant for ever: no conversion that goes on, no clock that was set back") {
  Room room;
  const std::string definition = std::string(tenants::k_crds) + "/gizmos.foofoo-own.example.com";
  auto settings = Room::settings();
  settings.held = std::chrono::milliseconds(500);
  settings.policy.delete_grace = std::chrono::seconds(2);
  const auto service = room.service(settings);
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  SUBCASE("a conversion") {
    room.upstream.put(definition, {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "foofoo"}}}}},
                                   {"spec", {{"conversion", {{"strategy", "Webhook"}}}}}});
    room.upstream.set_fault([&](const std::string& method, const std::string& path) {
      return method == "PATCH" && path == definition
                 ? std::optional(status(403, "Forbidden", "no definition is changed here"))
                 : std::nullopt;
    });
  }
  SUBCASE("a clock") {
    must(tenants::change_tenant(*room.store, "foofoo", {}, [&](api::Tenant& tenant) {
      tenant.held_until =
          tenants::time_text(std::chrono::system_clock::now() + std::chrono::hours(1));
      return true;
    }));
  }
  must(service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK(room.upstream.size() == 0);
}

TEST_CASE("a definition whose objects upstream cannot read is made readable, and goes") {
  Room room;
  const std::string definition = std::string(tenants::k_crds) + "/gizmos.foofoo-own.example.com";
  const auto service = room.service(Room::settings());
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  room.upstream.put(
      definition,
      {{"metadata",
        {{"name", "gizmos.foofoo-own.example.com"},
         {"labels", {{"tenant.kubezoo.io/id", "foofoo"}}},
         {"finalizers", {"customresourcecleanup.apiextensions.k8s.io"}}}},
       {"spec",
        {{"versions", json::array({{{"name", "v1"}, {"served", true}, {"storage", true}}})},
         {"names",
          {{"plural", "gizmos"}, {"singular", "gizmo"}, {"kind", "G"}, {"listKind", "GList"}}}}},
       {"status",
        {{"acceptedNames",
          {{"plural", "gizmos"}, {"singular", "gizmo"}, {"kind", "G"}, {"listKind", "GList"}}}}}});
  std::atomic<bool> readable = false, is_established = false;
  room.upstream.set_fault([&](const std::string& method, const std::string& path) {
    if (method == "PUT" && path == definition) readable = true;
    if (method == "PUT" && path == definition + "/status") {
      is_established = true;
      return std::optional(status(200, "", ""));
    }
    const bool lists = method == "GET" && path == "/apis/foofoo-own.example.com/v1/gizmos";
    return lists && !readable
               ? std::optional(status(500, "InternalError",
                                      "request to convert CR from an invalid group/version: "
                                      "foofoo-own.example.com/v1alpha1"))
               : std::nullopt;
  });
  must(service->remove("foofoo", {}, false));
  const auto versions = [&] { return room.upstream.at(definition)["spec"]["versions"]; };
  REQUIRE(eventually([&] { return versions().size() == 2; }));
  CHECK(versions()[1]["name"] == "v1alpha1");
  CHECK(is_established);
  auto done = room.upstream.at(definition);
  done["status"]["conditions"] = {{{"type", "Established"}, {"status", "True"}}};
  room.upstream.put(definition, done);
  REQUIRE(eventually(
      [&] { return room.upstream.at(definition)["metadata"].contains("deletionTimestamp"); }));
  must(room.upstream.connect()->merge_patch(definition, {{"metadata", {{"finalizers", nullptr}}}}));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
}

TEST_CASE("a volume that came when its tenant was gone keeps the ID from others") {
  Room room;
  std::optional<tenants::Names> known = tenants::Names{"pvc-late"};
  tenants::ControllerParts parts{*room.store, *room.pki, room.sealer,
                                 [&] { return room.upstream.connect(); }};
  parts.claimed_volumes = [&](std::string_view) { return known; };
  tenants::TenantServiceImpl service(std::move(parts), Room::settings());
  must(service.start());
  room.upstream.put("/api/v1/persistentvolumes/pvc-late",
                    {{"spec", {{"claimRef", {{"namespace", "foofoo-default"}}}}}});
  SUBCASE("that is known") {}
  SUBCASE("that is read") { known = std::nullopt; }
  const auto refused = service.create(wanted("foofoo"), false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::conflict);
  CHECK(refused.error().message().find("pvc-late") != std::string::npos);
  if (!known) return;
  // It has gone, which is known a moment later.
  must(room.upstream.connect()->remove("/api/v1/persistentvolumes/pvc-late"));
  must(service.create(wanted("foofoo"), false));
}

TEST_CASE("an upstream that is down is told in the tenant's conditions, and waited for") {
  Room room;
  const auto service = room.service();
  std::atomic<bool> down = false;
  room.upstream.set_fault([&](const std::string& method, const std::string&) {
    return down && method != "GET" ? std::optional(status(503, "ServiceUnavailable", "it is down"))
                                   : std::nullopt;
  });
  down = true;
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] {
    const auto tenant = must(service->get("foofoo"));
    const auto* condition = tenant.condition("Ready");
    return condition != nullptr && condition->message.find("it is down") != std::string::npos;
  }));
  down = false;
  CHECK(eventually([&] { return ready(*service, "foofoo"); }));
}

TEST_CASE("a certificate is renewed where the tenant's room cannot be repaired") {
  Room room;
  auto settings = Room::settings();
  settings.policy.certificate_validity = std::chrono::minutes(1); // is due from the beginning
  const auto service = room.service(settings);
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return has_condition(*service, "foofoo", tenants::k_in_cluster); }));
  room.upstream.set_fault([](const std::string&, const std::string&) {
    return std::optional(status(403, "Forbidden", "its own policy says no"));
  });
  const auto before = must(room.store->get(tenants::k_credential_kind, "foofoo")).value;
  auto tenant = must(service->get("foofoo"));
  tenant.display_name = "Foo";
  must(service->update(tenant, false));
  REQUIRE(eventually(
      [&] { return must(room.store->get(tenants::k_credential_kind, "foofoo")).value != before; }));
  REQUIRE(eventually([&] {
    const auto now = must(service->get("foofoo"));
    const auto* synced = now.condition("Synced");
    return synced != nullptr && synced->status == "False";
  }));
}

TEST_CASE("a namespace that appears under the prefix without the label is never taken over") {
  Room room;
  auto settings = Room::settings();
  settings.on_step = [&](std::string_view step) {
    if (step == "create-namespace" && !room.upstream.has("/api/v1/namespaces/foofoo-default")) {
      room.upstream.put("/api/v1/namespaces/foofoo-default", {{"theirs", true}});
    }
  };
  const auto service = room.service(settings);
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] {
    const auto tenant = must(service->get("foofoo"));
    const auto* condition = tenant.condition("Ready");
    return condition != nullptr && condition->message.find("foofoo-default") != std::string::npos;
  }));
  must(service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK(room.upstream.has("/api/v1/namespaces/foofoo-default"));
}

TEST_CASE("update compares the version, keeps the status and tells suspension") {
  Room room;
  const auto service = room.service();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  auto tenant = must(service->get("foofoo"));
  auto stale = tenant;
  stale.resource_version = 1'000'000;
  CHECK(service->update(stale, false).error().code() == Code::conflict);
  tenant.resource_version = 0;
  tenant.suspended = true;
  tenant.phase = api::Phase::failed; // not the client's to say
  const auto generation = tenant.generation;
  CHECK(must(service->update(tenant, true)).suspended);
  CHECK_FALSE(must(service->get("foofoo")).suspended);
  CHECK(must(service->update(tenant, false)).generation == generation + 1);
  CHECK(eventually([&] { return must(service->get("foofoo")).phase == api::Phase::suspended; }));
}

TEST_CASE("removal asks for the uid, is said once, and the ID comes back as another tenant") {
  Room room;
  const auto service = room.service();
  const auto first = must(service->create(wanted("foofoo"), false));
  CHECK(service->remove("foofoo", {"other", {}}, false).error().code() == Code::conflict);
  CHECK(must(service->remove("foofoo", {first.uid, {}}, true)).phase == api::Phase::deleting);
  CHECK(must(service->get("foofoo")).deletion_timestamp.empty());
  const auto& version = std::to_string(must(service->get("foofoo")).resource_version + 1);
  CHECK(service->remove("foofoo", {{}, version}, true).error().code() == Code::conflict);
  must(service->remove("foofoo", {first.uid, {}}, false));
  REQUIRE(eventually([&] { return gone(*service, "foofoo"); }));
  CHECK(service->remove("foofoo", {}, false).error().code() == Code::not_found);
  CHECK(must(service->create(wanted("foofoo"), false)).uid != first.uid);
}

TEST_CASE("watchers hear of every change in order") {
  Room room;
  const auto service = room.service();
  std::mutex mutex;
  std::vector<tenants::TenantChange::Type> heard;
  const auto subscription = must(service->watch(0, [&](const tenants::TenantChange& change) {
    const std::lock_guard lock(mutex);
    heard.push_back(change.type);
  }));
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return ready(*service, "foofoo"); }));
  must(service->remove("foofoo", {}, false));
  using Type = tenants::TenantChange::Type;
  REQUIRE(eventually([&] {
    const std::lock_guard lock(mutex);
    return !heard.empty() && heard.back() == Type::deleted;
  }));
  CHECK(heard.front() == Type::added);
  CHECK(std::count(heard.begin(), heard.end(), Type::added) == 1);
}

TEST_CASE("which addresses pods can reach") {
  using tenants::why_not_an_endpoint;
  CHECK(why_not_an_endpoint("192.0.2.7").empty());
  CHECK(why_not_an_endpoint("2001:db8::1").empty());
  for (const std::string host : {"127.0.0.1", "127.9.9.9", "::1", "169.254.1.1", "fe80::1",
                                 "0.0.0.0", "::", "bastion.example.com", "224.0.0.1"}) {
    CAPTURE(host);
    CHECK_FALSE(why_not_an_endpoint(host).empty());
  }
}

TEST_CASE("what a Tenant switches off for its pods stands on each of its namespaces") {
  Room room;
  const auto service = room.service();
  auto tenant = wanted("foofoo");
  tenant.inside = {false, true};
  must(service->create(tenant, false));
  for (const auto* space : {"default", "kube-system"})
    room.upstream.put(
        fmt::format("/api/v1/namespaces/foofoo-{}/configmaps/kube-root-ca.crt", space), {});
  REQUIRE(eventually([&] {
    const auto now = must(service->get("foofoo"));
    const auto* populated = now.condition("Populated");
    const auto* told = now.condition(tenants::k_in_cluster);
    return populated != nullptr && populated->status == "True" && told != nullptr &&
           told->reason == "SwitchedOff";
  }));
  const auto label = [&](const std::string& space) {
    return room.upstream.at("/api/v1/namespaces/" + space)["metadata"]["labels"].value(
        "zoo.kubezoo.io/inside", "");
  };
  CHECK(label("foofoo-default") == "dns");
  CHECK(label("foofoo-kube-system") == "dns");
  room.upstream.put("/api/v1/namespaces/foofoo-own",
                    {{"metadata", {{"labels", {{"tenant.kubezoo.io/id", "foofoo"}}}}}});
  service->touch("foofoo");
  CHECK(eventually([&] { return label("foofoo-own") == "dns"; }));

  tenant = must(service->get("foofoo"));
  tenant.inside = {true, true};
  must(service->update(tenant, false));
  CHECK(eventually([&] {
    return label("foofoo-default").empty() && label("foofoo-kube-system").empty() &&
           label("foofoo-own").empty();
  }));
  CHECK(eventually([&] {
    const auto now = must(service->get("foofoo"));
    const auto* told = now.condition(tenants::k_in_cluster);
    return told != nullptr && told->status == "True";
  }));
}
