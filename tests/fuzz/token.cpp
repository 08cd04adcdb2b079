// SPDX-License-Identifier: Apache-2.0
// Bearer tokens and continue tokens from strangers: what is read of them has the form that the rest
// relies on; no signature is good but a real one; what zood writes is read again.
#include "common/api/tenant.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/tenants/token_claims.hpp"
#include "daemon/translate/continue.hpp"
#include "daemon/upstream/token_signature.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace zoo;

/// The keys of RFC 7515 A.2 and A.3, each under an ID and as the one that a token without ID names.
const std::string k_ec_key = R"("kty":"EC","crv":"P-256",)"
                             R"("x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                             R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")";
const std::string k_rsa_key =
    R"("kty":"RSA","e":"AQAB","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp)"
    R"(-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_)"
    R"(7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3q)"
    R"(Co5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuX)"
    R"(poQ")";
/// What was signed in A.3: the only text that has a good signature here.
const std::string k_signed =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv"
    "bS9pc19yb290Ijp0cnVlfQ";

const upstream::KeySet& published() {
  static const auto keys = [] {
    const auto set =
        "{\"keys\":[{\"kid\":\"ec\"," + k_ec_key + "},{\"kid\":\"rsa\"," + k_rsa_key + "}]}";
    auto out = upstream::read_key_set(set);
    invariant(out && out->size() == 2, "the set is read", set);
    auto node = out->extract("ec"); // the RFC's token names no key
    node.key() = "";
    out->insert(std::move(node));
    auto again = upstream::read_key_set(set);
    out->insert(again->extract("ec"));
    return *std::move(out);
  }();
  return keys;
}

void signatures(std::string_view text) {
  const auto part = crypto::base64url_encode(text);
  for (const auto& token : {std::string(text), part + ".e30.c2ln",
                            k_signed + "." + std::string(text), k_signed + "." + part}) {
    if (upstream::check_signature(published(), token) != upstream::Signature::good) continue;
    invariant(token.substr(0, token.rfind('.')) == k_signed, "nobody signed it", token);
  }
  // What upstream publishes, whatever it is.
  if (const auto keys = upstream::read_key_set(text)) {
    for (const auto& [id, key] : *keys)
      invariant(!id.empty() && (key.takes("RS256") || key.takes("ES256") || key.takes("ES384") ||
                                key.takes("ES512")),
                "a key that can be used", text);
    static_cast<void>(upstream::check_signature(*keys, k_signed + ".c2ln"));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // As it is, and as the payload of a token that is well-formed otherwise.
  for (const auto& token : {std::string(text), "e30." + crypto::base64url_encode(text) + ".c2ln"}) {
    const auto claims = tenants::read_token(token);
    if (!claims) continue;
    invariant(api::validate_id(claims->tenant).has_value(), "the tenant is an ID", token);
    invariant(!claims->name.empty() && !claims->name_space.empty(), "an account's names", token);
    invariant(claims->upstream_user == "system:serviceaccount:" + claims->tenant + "-" +
                                           claims->name_space + ":" + claims->name,
              "the tenant is the namespace's", token);
  }
  signatures(text);
  if (const auto position = translate::parse_upstream_token(text)) {
    const auto again = translate::parse_upstream_token(translate::upstream_token(*position));
    invariant(again.has_value() && *again == *position, "a position there and back", text);
    if (const auto key = translate::tenant_key(fuzz_tenant(), position->start))
      invariant(position->start.starts_with("abc123-"), "a key is within the range", *key);
  }
  if (const auto record = translate::parse_record(text)) {
    const auto written = translate::format_record(*record);
    invariant(written == text, "one spelling for each record", text);
  }
  return 0;
}
