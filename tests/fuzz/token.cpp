// SPDX-License-Identifier: Apache-2.0
// Bearer tokens and continue tokens from strangers: what is read of them has the form that the rest
// relies on; what zood writes is read again.
#include "common/api/tenant.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/gateway/token_claims.hpp"
#include "daemon/translate/continue.hpp"
#include "tests/fuzz/invariant.hpp"
#include "tests/fuzz/tenant.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zoo;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // As it is, and as the payload of a token that is well-formed otherwise.
  for (const auto& token : {std::string(text), "e30." + crypto::base64url_encode(text) + ".c2ln"}) {
    const auto claims = gateway::read_token(token);
    if (!claims) continue;
    invariant(api::validate_id(claims->tenant).has_value(), "the tenant is an ID", token);
    invariant(!claims->name.empty() && !claims->name_space.empty(), "an account's names", token);
    invariant(claims->upstream_user == "system:serviceaccount:" + claims->tenant + "-" +
                                           claims->name_space + ":" + claims->name,
              "the tenant is the namespace's", token);
  }
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
