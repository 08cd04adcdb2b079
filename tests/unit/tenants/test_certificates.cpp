// SPDX-License-Identifier: Apache-2.0
#include "common/kube/kubeconfig.hpp"
#include "daemon/tenants/certificates.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/records.hpp"
#include "tests/unit/tenants/fixture.hpp"

using namespace zoo;
using namespace zoo::tests;

namespace {

/// A Room whose tenant foofoo is Ready, followed by a directory.
struct Following : Room {
  tenants::TenantDirectory directory;
  std::unique_ptr<tenants::DirectoryFeeder> feeder =
      must(tenants::DirectoryFeeder::start(*store, directory));
  std::unique_ptr<tenants::TenantServiceImpl> service;

  Following() {
    service = std::make_unique<tenants::TenantServiceImpl>(
        tenants::ControllerParts{*store, *pki, sealer, [this] { return upstream.connect(); },
                                 &directory},
        settings());
    must(service->start());
    must(service->create(wanted("foofoo"), false));
    REQUIRE(eventually(
        [&] { return must(service->get("foofoo")).phase == api::Phase::ready && kept() != ""; }));
  }
  std::string kept() { return must(service->stored_kubeconfig("foofoo")); }
  tenants::Identity holder(const std::string& kubeconfig) {
    const auto access = must(kube::parse_kubeconfig(kubeconfig));
    return must(tenants::identity_of(
        must(crypto::Certificate::from_pem(access.credentials.client_cert_pem))));
  }
  tenants::Identity kept_holder() { return holder(must(crypto::base64_decode(kept()))); }
  bool honoured(const tenants::Identity& who) {
    const auto entry = directory.snapshot()->find("foofoo");
    return entry && entry->admits() && entry->honours_certificate(who.uid, who.serial, who.epoch);
  }
};

} // namespace

TEST_CASE("revoking a certificate refuses that one when the call returns, and tells who loses") {
  Following room;
  std::atomic<int> told = 0;
  room.directory.on_withdrawal([&](std::string_view id) { told += id == "foofoo" ? 1 : 0; });
  const auto one = room.holder(must(room.service->kubeconfig("foofoo", {})));
  const auto other = room.holder(must(room.service->kubeconfig("foofoo", {})));
  CHECK(room.honoured(one));
  std::string shown = one.serial;
  std::transform(shown.begin(), shown.end(), shown.begin(), ::toupper);
  const auto after = must(room.service->revoke("foofoo", {{shown}, false}));
  CHECK_FALSE(room.honoured(one));
  CHECK(room.honoured(other));
  CHECK(eventually([&] { return told > 0; }));
  REQUIRE(after.credentials.revoked.size() == 1);
  CHECK(after.credentials.revoked[0].serial == one.serial);
  CHECK(after.credentials.revoked[0].expiry > tenants::now_text());

  CHECK(room.service->revoke("foofoo", {{"ab12"}, false}).error().code() == Code::not_found);
  CHECK(room.service->revoke("foofoo", {{"xy"}, false}).error().code() == Code::invalid);
  CHECK(room.service->revoke("nobody", {{}, true}).error().code() == Code::not_found);
  // Once more is the same again.
  CHECK(must(room.service->revoke("foofoo", {{one.serial}, false})).credentials.revoked.size() ==
        1);
  for (const auto& each : must(room.service->certificates("foofoo")))
    CHECK(each.revoked == (each.certificate.serial == one.serial));
  room.directory.on_withdrawal([](std::string_view) {});
}

TEST_CASE("revoking all refuses certificates and tokens made until then, and none made later") {
  Following room;
  const auto before = room.kept_holder();
  const auto exported = room.holder(must(room.service->kubeconfig("foofoo", {})));
  const auto revoked = must(room.service->revoke("foofoo", {{}, true}));
  CHECK_FALSE(room.honoured(before));
  CHECK_FALSE(room.honoured(exported));
  CHECK(room.honoured(room.holder(must(room.service->kubeconfig("foofoo", {})))));
  const auto entry = room.directory.snapshot()->find("foofoo");
  const auto moment =
      std::chrono::system_clock::to_time_t(tenants::parse_time(revoked.credentials.not_before));
  CHECK_FALSE(entry->honours_token(entry->uid, moment));
  CHECK(entry->honours_token(entry->uid, moment + 1));
  CHECK_FALSE(entry->honours_token("another", moment + 1));
  // The kept one is made anew, and never handed out in between.
  REQUIRE(eventually([&] { return !room.kept().empty(); }));
  CHECK(room.honoured(room.kept_holder()));
  CHECK(room.kept_holder().epoch == 1);
  must(room.service->revoke("foofoo", {{}, true}));
  CHECK(must(room.service->get("foofoo")).credentials.epoch == 2);
}

TEST_CASE("rotation: the old certificate stays valid unless it is revoked with it") {
  Following room;
  const auto first = room.kept_holder();
  must(room.service->rotate("foofoo", false, false));
  const auto second = room.kept_holder();
  CHECK(first.serial != second.serial);
  CHECK(room.honoured(first));
  CHECK(room.honoured(second));
  must(room.service->rotate("foofoo", true, false));
  const auto third = room.kept_holder();
  CHECK(room.honoured(first));
  CHECK_FALSE(room.honoured(second));
  CHECK(room.honoured(third));
  const auto listed = must(room.service->certificates("foofoo"));
  CHECK(listed.size() == 3);
  CHECK(listed.back().certificate.serial == third.serial);
  CHECK(listed.back().certificate.administrator());
}

TEST_CASE("a rotation that cannot revoke the old certificate has made no new one") {
  Following room;
  const auto before = room.kept();
  must(tenants::change_tenant(*room.store, "foofoo", {}, [](api::Tenant& tenant) {
    for (std::size_t i = 0; i < tenants::k_most_revoked; ++i)
      tenant.credentials.revoked.push_back({fmt::format("{:x}", i + 1), "2999-01-01T00:00:00Z"});
    return true;
  }));
  CHECK(room.service->rotate("foofoo", true, false).error().code() == Code::invalid);
  CHECK(room.kept() == before); // who repeats it means this one
}

TEST_CASE("what is revoked stays so after its end, until the room is needed") {
  Following room;
  must(tenants::change_tenant(*room.store, "foofoo", {}, [](api::Tenant& tenant) {
    for (std::size_t i = 0; i + 1 < tenants::k_most_revoked; ++i)
      tenant.credentials.revoked.push_back({fmt::format("{:x}", i + 1), "2001-01-01T00:00:00Z"});
    return true;
  }));
  must(room.service->rotate("foofoo", true, false));
  CHECK(must(room.service->get("foofoo")).credentials.revoked.size() == tenants::k_most_revoked);
  must(room.service->rotate("foofoo", true, false));
  CHECK(must(room.service->get("foofoo")).credentials.revoked.size() == 2);
}

TEST_CASE("suspension and resumption are in force when the call returns") {
  Following room;
  auto tenant = must(room.service->get("foofoo"));
  tenant.resource_version = 0;
  tenant.suspended = true;
  CHECK(must(room.service->update(tenant, false)).phase == api::Phase::suspended);
  CHECK_FALSE(room.directory.snapshot()->find("foofoo")->admits());
  tenant.suspended = false;
  CHECK(must(room.service->update(tenant, false)).phase == api::Phase::ready);
  CHECK(room.directory.snapshot()->find("foofoo")->admits());
}

TEST_CASE("an ID that comes back has none of the earlier one's certificates") {
  Following room;
  must(room.service->kubeconfig("foofoo", {}));
  must(room.service->remove("foofoo", {}, false));
  REQUIRE(eventually([&] { return !room.service->get("foofoo"); }));
  CHECK(must(room.store->list(tenants::k_certificate_kind)).records.empty());
}

TEST_CASE("the record of certificates is bounded: what has expired goes, then what ends first") {
  const Room room;
  tenants::IssuedCertificate each;
  each.user = "jane";
  each.uid = "uid";
  for (std::size_t i = 0; i < tenants::k_most_certificates; ++i) {
    each.serial = fmt::format("{:04x}", i);
    each.expires =
        i == 7 ? "2001-01-01T00:00:00Z" : fmt::format("21{:02}-01-01T00:00:00Z", i % 100);
    must(tenants::record_certificate(*room.store, "foofoo", each));
  }
  each.expires = "2199-01-01T00:00:00Z";
  each.serial = "aaaa";
  must(tenants::record_certificate(*room.store, "foofoo", each));
  const auto has = [&](const std::string& serial) {
    return room.store->get(tenants::k_certificate_kind, "foofoo/" + serial).has_value();
  };
  CHECK_FALSE(has("0007"));
  CHECK(has("0000"));
  each.serial = "bbbb";
  must(tenants::record_certificate(*room.store, "foofoo", each));
  CHECK_FALSE(has("0000"));
  CHECK(has("aaaa"));
  CHECK(has("bbbb"));
}

TEST_CASE("certificates that end soon are warned of, short-lived and revoked ones are not") {
  api::Tenant tenant;
  tenant.uid = "uid";
  const auto warning = std::chrono::hours(14 * 24);
  const auto judged = [&](const std::string& issued, const std::string& expires) {
    tenants::IssuedCertificate each;
    each.serial = "0a";
    each.user = "jane";
    each.uid = "uid";
    each.issued = issued;
    each.expires = expires;
    tenants::judge_expiry(tenant, {each}, warning, "2026-06-01T00:00:00Z");
    return tenant.condition("CertificateExpiring")->status;
  };
  CHECK(judged("2025-06-10T00:00:00Z", "2026-06-10T00:00:00Z") == "True");
  CHECK(tenant.condition("CertificateExpiring")->message.find("0a of jane on 2026-06-10") !=
        std::string::npos);
  CHECK(judged("2025-07-10T00:00:00Z", "2026-07-10T00:00:00Z") == "False");
  CHECK(judged("2026-05-31T00:00:00Z", "2026-06-02T00:00:00Z") == "False");
  tenant.credentials.revoked = {{"0a", "2026-06-10T00:00:00Z"}};
  CHECK(judged("2025-06-10T00:00:00Z", "2026-06-10T00:00:00Z") == "False");
}

TEST_CASE("serials are read as openssl and browsers show them") {
  CHECK(must(tenants::read_serial("0A:1b:FF")) == "0a1bff");
  for (const auto* bad : {"", ":", "0x1", "zz", "0123456789012345678901234567890123456789a"})
    CHECK(tenants::read_serial(bad).error().code() == Code::invalid);
}
