// SPDX-License-Identifier: Apache-2.0
#include "common/base/json_text.hpp"
#include "common/crypto/issue.hpp"
#include "common/crypto/key.hpp"
#include "daemon/accounts/client_authority.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace zoo;
using accounts::client_authorities;

namespace {

crypto::Certificate authority(const std::string& name) {
  const auto key = crypto::PrivateKey::generate_p256();
  REQUIRE(key);
  auto made = crypto::make_ca(*key, name, std::chrono::hours(1));
  REQUIRE(made);
  return *std::move(made);
}

std::string config_map(const std::string& pem) {
  return R"({"kind":"ConfigMap","data":{"requestheader-client-ca-file":"x","client-ca-file":)" +
         json_quote(pem) + "}}";
}

} // namespace

TEST_CASE("upstream's client authorities are trusted, and that of the tenants never is") {
  const auto upstreams = authority("upstream"), second = authority("second"),
             tenants = authority("tenants");
  const auto all = client_authorities(
      config_map("a comment\n" + upstreams.to_pem() + tenants.to_pem() + second.to_pem()), tenants);
  REQUIRE(all);
  CHECK(*all == upstreams.to_pem() + second.to_pem());
  const auto only_tenants = client_authorities(config_map(tenants.to_pem()), tenants);
  REQUIRE(only_tenants);
  CHECK(only_tenants->empty());
}

TEST_CASE("an upstream that takes no client certificates has no authorities") {
  const auto tenants = authority("tenants");
  for (const auto* map : {"{}", R"({"data":{}})", R"({"data":{"client-ca-file":""}})"}) {
    const auto none = client_authorities(map, tenants);
    REQUIRE(none);
    CHECK(none->empty());
  }
}

TEST_CASE("an authority is found by its digest, and none where there is none") {
  const auto upstreams = authority("upstream"), second = authority("second"),
             stranger = authority("stranger");
  const accounts::Authorities both(upstreams.to_pem() + second.to_pem());
  CHECK(both.include(crypto::view(upstreams.sha256())));
  CHECK(both.include(crypto::view(second.sha256())));
  CHECK_FALSE(both.include(crypto::view(stranger.sha256())));
  CHECK_FALSE(both.include("")); // of a connection that was verified by nobody
  CHECK_FALSE(accounts::Authorities("").include(""));
  CHECK_FALSE(accounts::Authorities("no PEM").include(""));
}

TEST_CASE("what cannot be read is told, and trusts nobody new") {
  const auto tenants = authority("tenants");
  for (const auto& map :
       {config_map("-----BEGIN CERTIFICATE-----\nAAAA\n"), std::string("no JSON")}) {
    const auto broken = client_authorities(map, tenants);
    REQUIRE_FALSE(broken);
    CHECK(broken.error().code() == Code::invalid);
  }
}
