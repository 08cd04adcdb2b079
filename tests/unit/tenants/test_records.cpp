// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/around.hpp"
#include "daemon/tenants/entry_scan.hpp"
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

TEST_CASE("a record read in one pass says what the whole reader says") {
  const Room room;
  auto tenant = wanted("foofoo");
  tenant.uid = "uid-foofoo";
  tenant.creation_timestamp = "2026-01-02T03:04:05Z";
  tenant.generation = tenant.observed_generation = 3;
  tenant.phase = api::Phase::ready;
  tenant.labels = {{"team", "a \"b\" {c}"}};
  tenant.display_name = "{\"phase\":\"Failed\"} \\";
  for (const std::string condition : {"Ready", "Populated", tenants::k_in_cluster.data()})
    tenant.set_condition(condition, "True", "Because", "it is so", "2026-01-02T03:04:06Z");
  bool common = true;
  SUBCASE("settled") {}
  SUBCASE("pending") {
    tenant.phase = api::Phase::pending;
    tenant.conditions.clear();
  }
  SUBCASE("changed since it was looked at") { tenant.generation = 4; }
  SUBCASE("not populated") { tenant.set_condition("Populated", "False", "Waiting", "", "now"); }
  SUBCASE("to be suspended") { tenant.suspended = true; }
  SUBCASE("suspended") {
    tenant.suspended = true;
    tenant.phase = api::Phase::suspended;
  }
  SUBCASE("failed") { tenant.phase = api::Phase::failed; }
  SUBCASE("with a certificate that ends soon") {
    tenant.set_condition(std::string(tenants::k_expiring), "True", "EndsSoon", "", "now");
  }
  SUBCASE("to be deleted") { tenant.deletion_timestamp = "2026-01-02T03:04:07Z"; }
  SUBCASE("with terms of its own") {
    tenant.flow_json = R"({"maxRequestsInflight": 7})";
    common = false;
  }
  SUBCASE("of an account") { tenant.account = "team"; }
  SUBCASE("with templates of its own") {
    tenant.templates_json = R"([{"template":"walls"}])";
    common = false;
  }
  SUBCASE("with an old term") {
    tenant.annotations = {{std::string(api::k_inflight_annotation), "7"}};
    common = false;
  }
  SUBCASE("with a level of its own") {
    tenant.audit = api::AuditLevel::none;
    common = false;
  }
  SUBCASE("with revoked credentials") {
    tenant.credentials.epoch = 2;
    tenant.credentials.revoked = {{"0a", "2030-01-01T00:00:00Z"}};
    common = false;
  }
  SUBCASE("with letters that are escaped") {
    tenant.uid = "\"";
    common = false;
  }
  must(tenants::write_tenant(*room.store, tenant));
  const auto record = must(room.store->get(tenants::k_tenant_kind, "foofoo"));
  const auto whole = tenants::entry_of(must(tenants::tenant_of(record)));
  const auto entry = tenants::scan_entry(record);
  REQUIRE((entry != nullptr) == common);
  if (!common) return;
  CHECK(entry->account == whole->account);
  CHECK(entry->id == whole->id);
  CHECK(entry->uid == whole->uid);
  CHECK(entry->created == whole->created);
  CHECK(entry->revision == whole->revision);
  CHECK(entry->phase == whole->phase);
  CHECK(entry->settled == whole->settled);
  CHECK(entry->expiring == whole->expiring);
  CHECK(entry->admits() == whole->admits());

  // Whatever is cut off or put in, it is never read as something else.
  for (std::size_t size = 0; size < record.value.size(); ++size) {
    auto cut = record;
    cut.value.resize(size);
    CHECK(tenants::scan_entry(cut) == nullptr);
  }
  auto other = record;
  other.key = "barbar";
  CHECK(tenants::scan_entry(other) == nullptr);
}

TEST_CASE("a snapshot made at once is one made step by step") {
  const auto entry = [](int number) {
    auto out = std::make_shared<tenants::TenantEntry>();
    out->id = fmt::format("t{:05}", number);
    out->revision = number;
    return std::shared_ptr<const tenants::TenantEntry>(std::move(out));
  };
  std::vector<tenants::TenantSnapshot::Entry> entries;
  tenants::TenantSnapshot steps;
  for (int i = 0; i < 2000; ++i) {
    const int number = i * 7919 % 2000; // in no order
    entries.push_back(entry(number));
    steps = steps.with(entries.back()->id, entries.back());
  }
  const tenants::TenantSnapshot once(std::move(entries));
  CHECK(once.size() == 2000);
  CHECK(steps.size() == 2000);
  for (int i = 0; i < 2000; ++i) {
    const auto id = fmt::format("t{:05}", i);
    REQUIRE(once.find(id) != nullptr);
    CHECK(once.find(id)->revision == i);
    CHECK(steps.find(id)->revision == i);
  }
  const auto less = once.with("t00777", nullptr).with("nobody", nullptr);
  CHECK(less.size() == 1999);
  CHECK(less.find("t00777") == nullptr);
  CHECK(less.find("t00778") != nullptr);
  CHECK(once.find("t00777") != nullptr);
  std::size_t met = 0;
  less.each([&](const tenants::TenantEntry&) { ++met; });
  CHECK(met == 1999);
}

namespace {

/// A store in which something happens between the pages of a list, and whose watch is told by hand.
class PagedStore final : public store::StoreAround {
public:
  using StoreAround::StoreAround;
  std::function<void()> between;
  std::function<void(const store::Change&)> told;
  std::int64_t from = 0;

  Result<store::Page> list(std::string_view kind, std::string_view prefix,
                           std::string_view after_key, std::size_t limit) override {
    if (!after_key.empty() && between) std::exchange(between, nullptr)();
    return inner_.list(kind, prefix, after_key, limit);
  }
  Result<store::Subscription> watch(std::string_view, std::int64_t from_revision,
                                    std::function<void(const store::Change&)> on_change) override {
    from = from_revision;
    told = std::move(on_change);
    return store::Subscription();
  }
};

} // namespace

TEST_CASE("the directory never goes back to what a tenant was before it was read") {
  const Room room;
  for (int i = 0; i < 600; ++i)
    stored(*room.store, fmt::format("t{:05}", i));
  PagedStore store(*room.store);
  std::vector<store::Change> changes;
  const auto change = [&](const std::string& id, bool suspended) {
    const auto now = must(tenants::change_tenant(*room.store, id, {}, [&](auto& tenant) {
      tenant.suspended = suspended;
      return true;
    }));
    changes.push_back(
        {store::Change::Type::put, must(room.store->get(tenants::k_tenant_kind, id)), false});
    return now.resource_version;
  };
  // One tenant of each page is let go and held again, one of the second page is taken away.
  store.between = [&] {
    for (const auto* id : {"t00001", "t00599"}) {
      change(id, false);
      change(id, true);
    }
    const auto removed = must(room.store->get(tenants::k_tenant_kind, "t00598"));
    change("t00598", true);
    must(room.store->remove(tenants::k_tenant_kind, removed.key));
    changes.push_back({store::Change::Type::removed, removed, false});
    changes.back().record.revision = must(room.store->revision());
  };
  tenants::TenantDirectory directory;
  const auto feeder = must(tenants::DirectoryFeeder::start(store, directory));
  REQUIRE(store.told);
  REQUIRE_FALSE(directory.snapshot()->find("t00599")->admits());
  REQUIRE(directory.snapshot()->find("t00598") == nullptr);
  REQUIRE(directory.snapshot()->find("t00001")->admits()); // its page was read before
  for (const auto& each : changes) {
    REQUIRE(each.record.revision > store.from);
    store.told(each);
    CHECK_FALSE(directory.snapshot()->find("t00599")->admits());
    CHECK(directory.snapshot()->find("t00598") == nullptr);
  }
  CHECK_FALSE(directory.snapshot()->find("t00001")->admits());
  store.told(
      {store::Change::Type::put, must(room.store->get(tenants::k_tenant_kind, "t00599")), false});
  change("t00599", false);
  store.told(changes.back());
  CHECK(directory.snapshot()->find("t00599")->admits());
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
