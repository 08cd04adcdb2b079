// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "daemon/upstream/token_signature.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo::upstream;

namespace {

// RFC 7515 A.3, whose header names no key, and its key under an ID.
const std::string k_body = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLm"
                           "NvbS9pc19yb290Ijp0cnVlfQ";
const std::string k_signature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

std::string ec_key(std::string_view id, std::string_view more = "") {
  return R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
         R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","kid":")" +
         std::string(id) + "\"" + std::string(more) + "}";
}

std::string set_of(std::string_view keys) { return "{\"keys\":[" + std::string(keys) + "]}"; }

std::string token(std::string_view head) {
  return zoo::crypto::base64url_encode(head) + "." + k_body + "." + k_signature;
}

} // namespace

TEST_CASE("a set has the keys that can be used") {
  const auto keys =
      read_key_set(set_of(ec_key("a") + "," + ec_key("b", R"(,"use":"enc")") + "," +
                          ec_key("c", R"(,"use":"sig","alg":"ES256")") + "," + ec_key("") +
                          R"(,{"kty":"oct","k":"AAAA","kid":"d"},{"kty":"RSA","kid":"e"},7)"));
  REQUIRE(keys);
  CHECK(keys->size() == 2);
  CHECK(keys->contains("a"));
  CHECK(keys->contains("c"));
  CHECK(read_key_set(set_of(ec_key("a") + "," + ec_key("b") + "," + ec_key("a")))->size() == 1);
  CHECK(read_key_set(set_of(""))->empty());
  CHECK_FALSE(read_key_set("{}"));
  CHECK_FALSE(read_key_set("no JSON"));
}

TEST_CASE("a signature is good, forged or by somebody unknown") {
  // Of a key that stands under the ID "" the token of the RFC is signed as it is.
  KeySet keys;
  keys.emplace("",
               zoo::crypto::JwsKey::ec(
                   "P-256",
                   *zoo::crypto::base64url_decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"),
                   *zoo::crypto::base64url_decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
                   .value());
  const std::string real = "eyJhbGciOiJFUzI1NiJ9." + k_body + "." + k_signature;
  CHECK(check_signature(keys, real) == Signature::good);

  const auto named = read_key_set(set_of(ec_key("a")));
  REQUIRE(named);
  CHECK(check_signature(*named, token(R"({"alg":"ES256","kid":"a"})")) == Signature::forged);
  CHECK(check_signature(keys, token(R"({"alg":"ES256" })")) == Signature::forged);
  for (const auto* head :
       {R"({"alg":"ES256","kid":"b"})", R"({"alg":"ES256"})", R"({"alg":"none","kid":"a"})",
        R"({"alg":"PS256","kid":"a"})", R"({"kid":"a"})", R"({"alg":7,"kid":["a"]})", "[]"}) {
    CAPTURE(head);
    CHECK(check_signature(*named, token(head)) == Signature::unknown);
  }
  CHECK(check_signature({}, real) == Signature::unknown);
  for (const auto* broken : {"", "a", "a.b.c", "..", "%.%.%"}) {
    CAPTURE(broken);
    CHECK(check_signature(*named, broken) == Signature::none);
  }
}
