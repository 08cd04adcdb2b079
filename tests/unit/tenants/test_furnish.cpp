// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/manifests.hpp"
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <atomic>
#include <mutex>
#include <set>

using namespace zoo;
using namespace zoo::tests;

namespace {

/// What a namespace is to have, as a test says; and where it was asked for.
struct Furniture {
  Room room;
  std::mutex mutex;
  std::set<std::string> furnished; ///< namespaces
  std::set<std::string> early;     ///< of these, where the tenant had rights already
  std::atomic<bool> works = true;
  std::atomic<int> kept = 0; ///< how often a namespace was looked at that stood already
  std::string broken;        ///< a namespace in which nothing can be made

  std::unique_ptr<tenants::TenantServiceImpl> service() {
    return room.service(Room::settings(), [this](tenants::ControllerParts& parts) {
      parts.furnish = [this](auto&, const std::string&, const std::string& space) {
        return furnish(space);
      };
      parts.keep_furnished = [this](auto&, const std::string&, const std::string& space) {
        ++kept;
        return made(space);
      };
      parts.furnished = [this](const api::Tenant&) {
        return api::Condition{std::string(tenants::k_furnished), works ? "True" : "False", "Test",
                              "", ""};
      };
    });
  }
  Result<void> furnish(const std::string& space) {
    const bool bound = room.upstream.has(tenants::binding_path(space));
    const std::lock_guard lock(mutex);
    if (bound) early.insert(space);
    furnished.insert(space);
    return made(space);
  }
  Result<void> made(const std::string& space) const {
    if (works && space != broken) return {};
    return fail(Code::invalid, "template walls cannot be made");
  }
};

bool is_ready(tenants::TenantServiceImpl& service) {
  const auto tenant = must(service.get("foofoo"));
  const auto* ready = tenant.condition("Ready");
  return ready != nullptr && ready->status == "True";
}

} // namespace

TEST_CASE("each namespace of a new tenant is furnished before it has rights there") {
  Furniture world;
  const auto service = world.service();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return is_ready(*service); }));
  const std::lock_guard lock(world.mutex);
  CHECK(world.furnished == std::set<std::string>{"foofoo-default", "foofoo-kube-system"});
  CHECK(world.early.empty());
  const auto tenant = must(service->get("foofoo"));
  CHECK(tenant.condition(tenants::k_furnished)->status == "True");
}

TEST_CASE("a tenant whose first namespaces cannot be furnished has rights in none, and waits") {
  Furniture world;
  world.works = false;
  const auto service = world.service();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] {
    const auto now = must(service->get("foofoo"));
    const auto* ready = now.condition("Ready");
    return ready != nullptr && ready->message.find("template walls") != std::string::npos;
  }));
  const auto refused = must(service->get("foofoo"));
  CHECK(refused.condition("Ready")->message.find("foofoo-default") != std::string::npos);
  CHECK_FALSE(world.room.upstream.has(tenants::binding_path("foofoo-default")));
  world.works = true;
  CHECK(eventually([&] { return is_ready(*service); }));
}

TEST_CASE("a binding that was taken away comes back behind the furniture, and one namespace that "
          "cannot be furnished holds up none of the others") {
  Furniture world;
  const auto service = world.service();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] { return has_condition(*service, "foofoo", tenants::k_in_cluster); }));
  {
    const std::lock_guard lock(world.mutex);
    world.furnished.clear();
    world.early.clear();
  }
  auto api = world.room.upstream.connect();
  for (const char* space : {"foofoo-default", "foofoo-kube-system"})
    REQUIRE(api->remove(tenants::binding_path(space)));
  world.broken = "foofoo-default";
  auto tenant = must(service->get("foofoo"));
  tenant.display_name = "Foo";
  must(service->update(tenant, false));
  REQUIRE(eventually(
      [&] { return world.room.upstream.has(tenants::binding_path("foofoo-kube-system")); }));
  CHECK(eventually([&] {
    const auto now = must(service->get("foofoo"));
    const auto* synced = now.condition("Synced");
    return synced != nullptr && synced->status == "False" &&
           synced->message.find("template walls") != std::string::npos;
  }));
  CHECK_FALSE(world.room.upstream.has(tenants::binding_path("foofoo-default")));
  CHECK(eventually([&] { return world.kept > 0; })); // at the next look
  const std::lock_guard lock(world.mutex);
  CHECK(world.furnished == std::set<std::string>{"foofoo-default", "foofoo-kube-system"});
  CHECK(world.early.empty());
}
