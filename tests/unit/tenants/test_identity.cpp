// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/issue.hpp"
#include "daemon/tenants/identity.hpp"
#include "tests/unit/tenants/fixture.hpp"

using namespace zoo;
using namespace zoo::tests;

namespace {

crypto::CertificateRequest good_request() {
  crypto::CertificateRequest out;
  out.common_name = "alice";
  out.organizations = {"devs", "ops"};
  out.organizational_units = {"foofoo"};
  out.uris = {"urn:zoo:tenant:1234"};
  out.validity = std::chrono::hours(1);
  out.client = true;
  return out;
}

Result<tenants::Identity> identity_from(const crypto::CertificateRequest& request) {
  const auto key = must(crypto::PrivateKey::generate_p256());
  const auto ca = must(crypto::make_ca(key, "test", std::chrono::hours(2)));
  return tenants::identity_of(must(crypto::issue(ca, key, key, request)));
}

} // namespace

TEST_CASE("a tenant's certificate says tenant, uid, user and groups") {
  const auto who = must(identity_from(good_request()));
  CHECK(who.tenant == "foofoo");
  CHECK(who.uid == "1234");
  CHECK(who.user == "alice");
  CHECK(who.groups == std::vector<std::string>{"devs", "ops"});
  CHECK_FALSE(who.serial.empty());
}

TEST_CASE("the tenant's administrator keeps the group that only zood gives") {
  auto request = good_request();
  request.organizations = {std::string(tenants::k_tenant_admin_group)};
  CHECK(identity_from(request).has_value());
}

TEST_CASE("the URI may name the epoch that the certificate was made in") {
  auto request = good_request();
  CHECK(must(identity_from(request)).epoch == 0);
  request.uris = {tenants::uri_of({"foofoo", "1234", 12})};
  const auto who = must(identity_from(request));
  CHECK(who.uid == "1234");
  CHECK(who.epoch == 12);
  for (const auto* bad : {"urn:zoo:tenant:1234:", "urn:zoo:tenant:1234:0", "urn:zoo:tenant:1234:-1",
                          "urn:zoo:tenant:1234:1x", "urn:zoo:tenant::1", "urn:zoo:tenant:1:2:3",
                          "urn:zoo:tenant:1:99999999999999999999"}) {
    CAPTURE(bad);
    request.uris = {bad};
    CHECK_FALSE(identity_from(request));
  }
}

TEST_CASE("anything else in the subject is nobody") {
  auto request = good_request();
  SUBCASE("no OU") { request.organizational_units.clear(); }
  SUBCASE("two OUs") { request.organizational_units = {"foofoo", "barbar"}; }
  SUBCASE("an OU that is no ID") { request.organizational_units = {"Foofoo"}; }
  SUBCASE("an OU that is too long") { request.organizational_units = {"foofoo1"}; }
  SUBCASE("no URI") { request.uris.clear(); }
  SUBCASE("two URIs") { request.uris = {"urn:zoo:tenant:1", "urn:zoo:tenant:2"}; }
  SUBCASE("another URI") { request.uris = {"urn:other:1"}; }
  SUBCASE("an empty uid") { request.uris = {"urn:zoo:tenant:"}; }
  SUBCASE("more groups than there may be") {
    request.organizations = std::vector<std::string>(zoo::tenants::k_most_groups, "g");
    CHECK(identity_from(request));
    request.organizations.emplace_back("g");
  }
  SUBCASE("a system group") { request.organizations = {"system:masters"}; }
  SUBCASE("an administrator's group") { request.organizations = {"zoo:administrators"}; }
  SUBCASE("a system user") { request.common_name = "system:serviceaccount:a:b"; }
  const auto who = identity_from(request);
  REQUIRE_FALSE(who);
  CHECK(who.error().code() == Code::unauthorized);
}
