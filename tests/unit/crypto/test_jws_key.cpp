// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "common/crypto/jws_key.hpp"

#include <doctest/doctest.h>

#include <string>

using zoo::crypto::base64url_decode;
using zoo::crypto::JwsKey;

namespace {

// RFC 7515 A.2 and A.3: the same payload, signed by either.
const std::string k_payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
                              "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
const std::string k_rsa_text = "eyJhbGciOiJSUzI1NiJ9." + k_payload;
const std::string k_ec_text = "eyJhbGciOiJFUzI1NiJ9." + k_payload;

std::string decoded(std::string_view text) { return base64url_decode(text).value(); }

const std::string k_rsa_signature = decoded(
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
    "O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIA"
    "RNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqv"
    "hJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw");
const std::string k_ec_signature = decoded(
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q");

JwsKey rsa_key() {
  return JwsKey::rsa(
             decoded("ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrc"
                     "S2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGz"
                     "jb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xs"
                     "mtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8"
                     "q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
             decoded("AQAB"))
      .value();
}

const std::string k_x = decoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
const std::string k_y = decoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");

std::string changed(std::string text, std::size_t at) {
  text[at] = static_cast<char>(text[at] ^ 1);
  return text;
}

} // namespace

TEST_CASE("the signatures of RFC 7515 are good, and nothing beside them is") {
  const auto rsa = rsa_key();
  CHECK(rsa.signed_by("RS256", k_rsa_text, k_rsa_signature));
  CHECK_FALSE(rsa.signed_by("RS256", changed(k_rsa_text, 30), k_rsa_signature));
  CHECK_FALSE(rsa.signed_by("RS256", k_rsa_text, changed(k_rsa_signature, 200)));
  CHECK_FALSE(rsa.signed_by("RS512", k_rsa_text, k_rsa_signature));
  CHECK_FALSE(rsa.signed_by("RS256", k_rsa_text, ""));

  const auto ec = JwsKey::ec("P-256", k_x, k_y);
  REQUIRE(ec);
  CHECK(ec->signed_by("ES256", k_ec_text, k_ec_signature));
  CHECK_FALSE(ec->signed_by("ES256", changed(k_ec_text, 30), k_ec_signature));
  CHECK_FALSE(ec->signed_by("ES256", k_ec_text, changed(k_ec_signature, 60)));
  CHECK_FALSE(ec->signed_by("ES256", k_ec_text, k_ec_signature.substr(1)));
  CHECK_FALSE(ec->signed_by("ES256", k_ec_text, k_ec_signature + "0"));
  CHECK_FALSE(ec->signed_by("ES256", k_ec_text, std::string(64, '\0')));
}

TEST_CASE("a key takes the algorithms of its kind") {
  const auto rsa = rsa_key();
  const auto ec = JwsKey::ec("P-256", k_x, k_y);
  REQUIRE(ec);
  for (const auto* algorithm : {"RS256", "RS384", "RS512"}) {
    CHECK(rsa.takes(algorithm));
    CHECK_FALSE(ec->takes(algorithm));
  }
  CHECK(ec->takes("ES256"));
  for (const auto* algorithm : {"", "none", "HS256", "PS256", "ES384", "ES512", "RS1", "RS2567"}) {
    CAPTURE(algorithm);
    CHECK_FALSE(rsa.takes(algorithm));
    CHECK_FALSE(ec->takes(algorithm));
    CHECK_FALSE(rsa.signed_by(algorithm, k_rsa_text, k_rsa_signature));
  }
}

TEST_CASE("what is no key is none") {
  CHECK_FALSE(JwsKey::ec("P-256", k_y, k_x)); // not on the curve
  CHECK_FALSE(JwsKey::ec("P-256", k_x.substr(1), k_y));
  CHECK_FALSE(JwsKey::ec("secp256k1", k_x, k_y));
  CHECK_FALSE(JwsKey::ec("", "", ""));
  CHECK_FALSE(JwsKey::rsa(std::string(4096, 'x'), "\x03"));
  CHECK_FALSE(JwsKey::rsa("abc", ""));
}
