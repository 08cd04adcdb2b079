// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/key.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::crypto;

TEST_CASE("a key survives PEM") {
  const auto key = PrivateKey::generate_p256().value();
  const auto pem = key.to_pem();
  CHECK(pem.view().starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
  const auto again = PrivateKey::from_pem(pem.view()).value();
  CHECK(again.same_public_key(key));
  CHECK(again.to_pem().view() == pem.view());
  CHECK_FALSE(PrivateKey::generate_p256()->same_public_key(key));
}

TEST_CASE("what is no key is refused without showing it") {
  const auto key = PrivateKey::generate_p256()->to_pem();
  std::string damaged(key.view());
  damaged.replace(40, 8, "!!!!!!!!");
  for (const auto& bad :
       {std::string(), std::string("hello"), damaged,
        std::string(key.view().substr(0, key.view().size() / 2)),
        std::string("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")}) {
    const auto parsed = PrivateKey::from_pem(bad);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code() == Code::invalid);
    CHECK(parsed.error().message().find("!!!!") == std::string::npos);
  }
}

TEST_CASE("an encrypted key is refused with what to do, and asks for no pass phrase") {
  const auto parsed = PrivateKey::from_pem("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                                           "MIIBvTBXBgkqhkiG9w0BBQ0wSjApBgkqhkiG9w0BBQwwHAQI\n"
                                           "-----END ENCRYPTED PRIVATE KEY-----\n");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message().find("pass phrase") != std::string::npos);
}
