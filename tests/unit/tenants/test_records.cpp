// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

using namespace zoo;
using namespace zoo::tests;

namespace {

api::Tenant stored(store::Store& store, const std::string& id) {
  auto tenant = wanted(id);
  tenant.uid = "uid-" + id;
  tenant.phase = api::Phase::ready;
  return must(tenants::write_tenant(store, tenant));
}

} // namespace

TEST_CASE("a tenant comes back from the store as it was, IDs that look like numbers too") {
  const Room room;
  for (const std::string id : {"foofoo", "123456", "1e1000"}) {
    auto tenant = stored(*room.store, id);
    const auto back = must(tenants::read_tenant(*room.store, id));
    CHECK(back.id == id);
    CHECK(back.uid == "uid-" + id);
    CHECK(back.resource_version == tenant.resource_version);
  }
  CHECK(tenants::read_tenant(*room.store, "nobody").error().code() == Code::not_found);
}

TEST_CASE("a change is made on what is there now") {
  const Room room;
  stored(*room.store, "foofoo");
  int runs = 0;
  const auto written = must(tenants::change_tenant(*room.store, "foofoo", {}, [&](auto& tenant) {
    if (++runs == 1) { // somebody else is quicker
      (void)tenants::change_tenant(*room.store, "foofoo", {}, [](auto& other) {
        other.account = "theirs";
        return true;
      });
    }
    tenant.display_name = "mine";
    return true;
  }));
  CHECK(runs == 2);
  CHECK(written.account == "theirs");
  CHECK(written.display_name == "mine");
  const auto other =
      tenants::change_tenant(*room.store, "foofoo", "another-uid", [](auto&) { return true; });
  CHECK(other.error().code() == Code::conflict);
}

TEST_CASE("the directory follows the store") {
  const Room room;
  for (int i = 0; i < 1200; ++i)
    stored(*room.store, fmt::format("t{:05}", i));
  tenants::TenantDirectory directory;
  const auto feeder = must(tenants::DirectoryFeeder::start(*room.store, directory));
  CHECK(directory.snapshot()->size() == 1200);
  CHECK(directory.snapshot()->find("t00777")->uid == "uid-t00777");
  CHECK(directory.snapshot()->find("t99999") == nullptr);

  const auto before = directory.snapshot();
  must(room.store->remove(tenants::k_tenant_kind, "t00777"));
  must(tenants::change_tenant(*room.store, "t00001", {}, [](auto& tenant) {
    tenant.suspended = true;
    tenant.flow_json = R"({"maxRequestsInflight": 7})";
    return true;
  }));
  REQUIRE(
      eventually([&] { return directory.snapshot()->find("t00001")->terms.flow.requests == 7; }));
  CHECK(directory.snapshot()->find("t00777") == nullptr);
  CHECK_FALSE(directory.snapshot()->find("t00001")->admits());
  CHECK(directory.snapshot()->size() == 1199);
  CHECK(before->find("t00777") != nullptr);
  CHECK(before->find("t00001")->admits());

  // A record that nobody can read admits nobody.
  must(room.store->put(tenants::k_tenant_kind, "t00002", "{"));
  CHECK(eventually([&] { return directory.snapshot()->find("t00002") == nullptr; }));
}
