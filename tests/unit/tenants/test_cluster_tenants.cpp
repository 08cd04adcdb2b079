// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>

using namespace zoo;
using namespace zoo::tests;
using nlohmann::json;

namespace {

constexpr const char* k_id = "clu5t3";

bool made(tenants::TenantServiceImpl& service) {
  return must(service.of_clusters().make(k_id, "default/t1"));
}

/// The Tenant of a virtual cluster, with its namespace default.
struct OneNamespace {
  Room room;
  decltype(room.service()) service = room.service();
  std::unique_ptr<upstream::ControlApi> api = room.upstream.connect();
  tenants::ClusterTenants& of_clusters = service->of_clusters();
  const std::string space = "/api/v1/namespaces/clu5t3-default";
  OneNamespace() {
    REQUIRE(eventually([&] { return made(*service); }));
    must(of_clusters.open_namespace(*api, k_id, "clu5t3-default"));
  }
};

} // namespace

TEST_CASE("the Tenant of a virtual cluster has nothing upstream before something is put there") {
  Room room;
  const auto service = room.service();
  REQUIRE(eventually([&] { return made(*service); }));
  REQUIRE(eventually(
      [&] { return tenants::entry_of(must(tenants::read_tenant(*room.store, k_id)))->settled; }));
  CHECK(room.upstream.size() == 0);
  CHECK_FALSE(room.store->get(tenants::k_credential_kind, k_id));
  CHECK(must(service->get(k_id)).certificate_expiry.empty());
}

TEST_CASE("the Tenant of a virtual cluster stands in no list, and only zood changes it") {
  Room room;
  const auto service = room.service();
  REQUIRE(eventually([&] { return made(*service); }));
  const auto tenant = must(service->get(k_id));
  CHECK(tenant.of_cluster);
  CHECK_FALSE(tenants::entry_of(tenant)->admits());
  CHECK(must(service->list({}, 500)).items.empty());
  auto other = tenant;
  other.suspended = true;
  CHECK(service->update(other, false).error().code() == Code::forbidden);
  other.of_cluster = false;
  CHECK(service->update(other, false).error().code() == Code::forbidden);
  CHECK(service->remove(k_id, {}, false).error().code() == Code::forbidden);
  CHECK(service->kubeconfig(k_id, {}).error().code() == Code::forbidden);
  CHECK(service->rotate(k_id, false, false).error().code() == Code::forbidden);
  CHECK(service->revoke(k_id, {}).error().code() == Code::forbidden);
  CHECK(must(service->stored_kubeconfig(k_id)).empty());
  auto own = wanted("foofoo");
  own.of_cluster = true;
  CHECK(service->create(own, false).error().code() == Code::invalid);
  must(service->create(wanted("foofoo"), false));
  own.of_cluster = true;
  CHECK(service->update(own, false).error().code() == Code::invalid);
  CHECK(service->of_clusters().make("foofoo", "default/t2").error().code() == Code::conflict);
  CHECK_FALSE(must(service->of_clusters().remove("foofoo")));
  CHECK(must(service->get("foofoo")).deletion_timestamp.empty());
}

TEST_CASE_FIXTURE(
    OneNamespace,
    "a namespace of a virtual cluster is made with its fence, once, and not taken over") {
  const auto labels = room.upstream.at(space)["metadata"]["labels"];
  CHECK(labels["tenant.kubezoo.io/id"] == k_id);
  CHECK(labels["zoo.kubezoo.io/inside"] == "none");
  CHECK(room.upstream.has(space + "/serviceaccounts/default"));
  CHECK(room.upstream.has(space + "/configmaps/zoo-root-ca.crt"));
  CHECK(room.upstream.has("/apis/rbac.authorization.k8s.io/v1/namespaces/clu5t3-default/"
                          "rolebindings/zoo-tenant"));
  const auto writes = [&] {
    const auto all = room.upstream.requests();
    return std::count_if(all.begin(), all.end(),
                         [](const auto& each) { return !each.starts_with("GET "); });
  };
  const auto before = writes();
  must(of_clusters.open_namespace(*api, k_id, "clu5t3-default"));
  CHECK(writes() - before <= 1); // the create that finds it there

  room.upstream.put("/api/v1/namespaces/clu5t3-foreign", json::object());
  CHECK(of_clusters.open_namespace(*api, k_id, "clu5t3-foreign").error().code() == Code::conflict);
  CHECK(of_clusters.open_namespace(*api, k_id, "foofoo-default").error().code() == Code::conflict);
  CHECK(of_clusters.open_namespace(*api, "foofoo", "foofoo-x").error().code() == Code::not_found);
}

TEST_CASE("the Tenant of a virtual cluster goes when upstream is proven to be empty of it") {
  Room room;
  const auto service = room.service();
  CHECK_FALSE(must(service->of_clusters().remove(k_id))); // was never made
  REQUIRE(eventually([&] { return made(*service); }));
  const auto api = room.upstream.connect();
  must(service->of_clusters().open_namespace(*api, k_id, "clu5t3-default"));
  const auto left = must(service->of_clusters().remove(k_id));
  if (left) CHECK_FALSE(left->empty());
  CHECK(eventually([&] { return !must(service->of_clusters().remove(k_id)); }));
  CHECK(room.upstream.size() == 0);
  REQUIRE(eventually([&] { return made(*service); }));
}

TEST_CASE_FIXTURE(
    OneNamespace,
    "pods that ask for a long time to end do not hold up the end of a virtual cluster") {
  must(api->merge_patch(space, {{"metadata", {{"finalizers", json::array({"example.com/x"})}}}}));
  for (const auto& [name, seconds] : {std::pair("years", 3'000'000'000L), std::pair("soon", 300L)})
    room.upstream.put(space + "/pods/" + name,
                      {{"metadata", {{"deletionGracePeriodSeconds", seconds}}}});
  REQUIRE(eventually([&] {
    must(of_clusters.remove(k_id));
    return !room.upstream.has(space + "/pods/years");
  }));
  CHECK(room.upstream.has(space + "/pods/soon"));
}

TEST_CASE(
    "what the Tenant of a virtual cluster has in another store is not looked for in this one") {
  using Is = tenants::RoomPlace::Is;
  Room room;
  std::atomic<Is> is = Is::here;
  std::atomic<bool> away = false;
  const auto service = room.service(Room::settings(), [&](tenants::ControllerParts& parts) {
    parts.room_place = [&](upstream::ControlApi&,
                           const api::Tenant& tenant) -> Result<tenants::RoomPlace> {
      CHECK(tenant.id == k_id);
      if (away) return fail(Code::unavailable, "the upstream does not answer");
      return tenants::RoomPlace{is, "the first store"};
    };
  });
  REQUIRE(eventually([&] { return made(*service); }));
  const auto api = room.upstream.connect();
  auto& of_clusters = service->of_clusters();
  must(of_clusters.open_namespace(*api, k_id, "clu5t3-default"));
  const std::string space = "/api/v1/namespaces/clu5t3-default";
  const auto waits_for = [&](const std::string& words) {
    return eventually([&] {
      const auto left = must(of_clusters.remove(k_id));
      return left && left->find(words) != std::string::npos;
    });
  };
  is = Is::elsewhere;
  REQUIRE(waits_for("the first store"));
  away = true;
  REQUIRE(waits_for("the upstream does not answer"));
  away = false;
  REQUIRE(waits_for("the first store"));
  const auto asked = room.upstream.requests();
  CHECK(std::none_of(asked.begin(), asked.end(),
                     [](const auto& each) { return each.starts_with("DELETE "); }));
  CHECK(room.upstream.has(space));
  const auto gone = [&] { return !must(of_clusters.remove(k_id)); };
  SUBCASE("until that one is back") {
    is = Is::here;
    CHECK(eventually(gone));
    CHECK(room.upstream.size() == 0);
  }
  SUBCASE("and stays there if it is given up") {
    is = Is::given_up;
    CHECK(eventually(gone));
    CHECK(room.upstream.has(space));
  }
}
