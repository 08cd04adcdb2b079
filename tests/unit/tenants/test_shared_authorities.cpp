// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/records.hpp"
#include "daemon/tenants/shared_authorities.hpp"
#include "tests/unit/tenants/fixture.hpp"

#include <atomic>
#include <filesystem>

using namespace zoo;
using namespace zoo::tests;
using tenants::Pki;
using tenants::SharedAuthorities;

TEST_CASE("zoods with one store have the authorities of the first, with their keys sealed") {
  Room room;
  const crypto::Sealer sealer{Secret(must(crypto::random_bytes(32)))};
  SharedAuthorities first(*room.store, sealer, room.directory.path, true);
  REQUIRE(first.take()); // there are none yet
  CHECK(must(first.give()));
  CHECK(must(first.give()));
  const auto record = must(room.store->get(SharedAuthorities::k_kind, "tenants-ca"));
  CHECK(record.value.find("PRIVATE KEY") == std::string::npos);

  // One that is new takes them.
  const Directory second;
  SharedAuthorities joining(*room.store, sealer, second.path, true);
  REQUIRE(joining.take());
  const auto pki = must(Pki::open({second.path, {}, {}, {}}));
  CHECK(pki->ca_pem() == room.pki->ca_pem());
  CHECK(pki->admin_ca_pem() == room.pki->admin_ca_pem());
  CHECK(must(joining.give()));

  // One that has made its own at the same moment takes those of the first, and opens them.
  const Directory third;
  const auto own = must(Pki::open({third.path, {}, {}, {}}))->ca_pem();
  SharedAuthorities late(*room.store, sealer, third.path, true);
  CHECK(own != room.pki->ca_pem());
  CHECK_FALSE(must(late.give()));
  CHECK(must(Pki::open({third.path, {}, {}, {}}))->ca_pem() == room.pki->ca_pem());

  // One that had its own before is told so, and keeps it.
  const Directory other;
  const auto kept = must(Pki::open({other.path, {}, {}, {}}))->ca_pem();
  SharedAuthorities wrong(*room.store, sealer, other.path, true);
  const auto refused = wrong.take();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::conflict);
  CHECK(must(Pki::open({other.path, {}, {}, {}}))->ca_pem() == kept);

  // Another master key opens nothing.
  const crypto::Sealer stranger{Secret(must(crypto::random_bytes(32)))};
  const Directory fourth;
  SharedAuthorities blind(*room.store, stranger, fourth.path, true);
  CHECK(blind.take().error().code() == Code::invalid);
  CHECK_FALSE(std::filesystem::exists(fourth.path / "pki" / "ca.key"));
}

namespace {

/// Leads as the test says.
class Leadership final : public store::Session {
public:
  std::atomic<bool> now{false};
  std::atomic<int> settled{0};
  std::vector<std::string> without; ///< what settle() answers

  bool leads() const override { return now; }
  std::optional<store::Fence> fence() const override { return std::nullopt; }
  void on_change(std::function<void(bool)>) override {}
  void resign() override { now = false; }
  Result<std::vector<std::string>> settle() override {
    ++settled;
    return without;
  }
  Result<std::vector<store::Replica>> replicas() override { return std::vector<store::Replica>(); }
  void tell(std::string) override {}
  const std::string& name() const override { return name_; }

private:
  const std::string name_ = "test";
};

struct LedRoom : Room {
  Leadership session;
  tenants::TenantDirectory directory_;
  std::unique_ptr<tenants::DirectoryFeeder> feeder =
      must(tenants::DirectoryFeeder::start(*store, directory_));
  std::unique_ptr<tenants::TenantServiceImpl> led(tenants::Settings with = settings()) {
    tenants::ControllerParts parts{*store, *pki, sealer, [this] { return upstream.connect(); }};
    parts.directory = &directory_;
    parts.session = &session;
    auto out = std::make_unique<tenants::TenantServiceImpl>(std::move(parts), std::move(with));
    must(out->start());
    return out;
  }
};

} // namespace

TEST_CASE("one that does not lead records what is wanted, and the leader hears of it and does it") {
  LedRoom room;
  const auto service = room.led();
  must(service->create(wanted("foofoo"), false));
  service->touch("foofoo");
  CHECK_FALSE(room.upstream.has("/api/v1/namespaces/foofoo-default"));
  CHECK(must(service->get("foofoo")).phase == api::Phase::pending);
  room.session.now = true;
  service->lead();
  REQUIRE(eventually([&] {
    const auto tenant = service->get("foofoo");
    return tenant && tenant->phase == api::Phase::ready;
  }));
  // Written by another zood: nobody tells this one but the store.
  auto other = must(tenants::read_tenant(*room.store, "foofoo"));
  other.id = "barbar";
  other.uid = "another";
  other.resource_version = 0;
  other.phase = api::Phase::pending;
  other.conditions.clear();
  must(tenants::write_tenant(*room.store, other));
  REQUIRE(eventually([&] { return room.upstream.has("/api/v1/namespaces/barbar-default"); }));
}

TEST_CASE("one that stops leading in the middle of a deletion removes nothing more") {
  LedRoom room;
  room.session.now = true;
  std::atomic<bool> stop{false};
  auto settings = Room::settings();
  settings.on_step = [&](std::string_view step) {
    if (stop && step == "refuse-credentials") room.session.now = false;
  };
  const auto service = room.led(settings);
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] {
    const auto tenant = service->get("foofoo");
    return tenant && tenant->phase == api::Phase::ready;
  }));
  stop = true;
  must(service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return !room.session.now; }));
  const auto requests = room.upstream.requests().size();
  service->touch("foofoo");
  CHECK(room.upstream.has("/api/v1/namespaces/foofoo-default"));
  CHECK(must(tenants::load_credential(*room.store, room.sealer, "foofoo")).has_value());
  CHECK(room.upstream.requests().size() == requests);
  stop = false;
  room.session.now = true;
  service->lead();
  REQUIRE(eventually([&] { return !service->get("foofoo"); }));
}

TEST_CASE("what is taken away is so at every zood when the call returns, or those are named") {
  LedRoom room;
  room.session.now = true;
  const auto service = room.led();
  must(service->create(wanted("foofoo"), false));
  REQUIRE(eventually([&] {
    const auto tenant = service->get("foofoo");
    return tenant && tenant->phase == api::Phase::ready;
  }));
  const auto before = room.session.settled.load();
  tenants::RevokeRequest request;
  request.all = true;
  must(service->revoke("foofoo", request));
  CHECK(room.session.settled > before);
  room.session.without = {"second", "third"};
  const auto refused = service->revoke("foofoo", request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::timeout);
  CHECK(refused.error().message().find("every zood but second, third") != std::string::npos);
}
