// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"
#include "daemon/tenants/token_authn.hpp"

#include <doctest/doctest.h>

using namespace zoo::tenants;

namespace {

std::string token(std::string_view claims) {
  return zoo::crypto::base64url_encode(R"({"alg":"RS256"})") + "." +
         zoo::crypto::base64url_encode(claims) + ".c2ln";
}

} // namespace

TEST_CASE("a tenant's token tells whose it is") {
  const auto found = read_token(token(
      R"({"aud":["zood"],"exp":99,"iat":33,"sub":"system:serviceaccount:foofoo-team-a:robot"})"));
  REQUIRE(found);
  CHECK(found->tenant == "foofoo");
  CHECK(found->name_space == "team-a");
  CHECK(found->name == "robot");
  CHECK(found->expires == 99);
  CHECK(found->issued == 33);
  CHECK(read_token(token(R"({"aud":"zood","sub":"system:serviceaccount:foofoo-a:b"})")));
}

TEST_CASE("nothing else is asked about") {
  for (const auto* claims : {
           R"({"aud":["https://kubernetes.default.svc"],"sub":"system:serviceaccount:foofoo-a:b"})",
           R"({"aud":["zood"],"sub":"system:serviceaccount:kube-system:b"})",
           R"({"aud":["zood"],"sub":"system:serviceaccount:foofoo-:b"})",
           R"({"aud":["zood"],"sub":"system:serviceaccount:foofoo:b"})",
           R"({"aud":["zood"],"sub":"system:serviceaccount:FOOFOO-a:b"})",
           R"({"aud":["zood"],"sub":"jane"})",
           R"({"sub":"system:serviceaccount:foofoo-a:b"})",
           R"([])",
           "no JSON",
       }) {
    CAPTURE(claims);
    CHECK_FALSE(read_token(token(claims)));
  }
  CHECK_FALSE(read_token(""));
  CHECK_FALSE(read_token("a.b"));
  CHECK_FALSE(read_token("a.%%%.c"));
  CHECK_FALSE(read_token("a.b.c.d"));
  CHECK_FALSE(read_token(std::string(20'000, 'a')));
}
