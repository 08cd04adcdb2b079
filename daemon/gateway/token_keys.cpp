// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/token_keys.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <cstddef>
#include <set>
#include <utility>

namespace zoo::gateway {
namespace {

using Clock = std::chrono::steady_clock;
using translate::JsonNode;
using translate::JsonTree;
using translate::JsonType;

constexpr std::size_t k_max_set = 64 * 1024;

Result<crypto::JwsKey> read_key(JsonNode key) {
  const auto number = [key](std::string_view name) {
    return crypto::base64url_decode(key[name].string());
  };
  if (key["kty"].string() == "RSA") {
    ZOO_TRY(const auto n, number("n"));
    ZOO_TRY(const auto e, number("e"));
    return crypto::JwsKey::rsa(n, e);
  }
  ZOO_TRY(const auto x, number("x"));
  ZOO_TRY(const auto y, number("y"));
  return crypto::JwsKey::ec(key["crv"].string(), x, y);
}

} // namespace

Result<KeySet> read_key_set(std::string_view json) {
  ZOO_TRY(const auto tree, JsonTree::parse(json));
  const auto keys = tree.root()["keys"];
  if (!keys.is(JsonType::array)) return fail(Code::bad_request, "this is no set of keys");
  KeySet out;
  std::set<std::string> seen;
  for (auto each = keys.first(); each; each = each.next()) {
    const auto id = each["kid"].string(), use = each["use"].string();
    if (id.empty() || (!use.empty() && use != "sig")) continue;
    if (!seen.insert(id).second) {
      out.erase(id); // upstream tries one after the other: none of them tells alone
    } else if (auto key = read_key(each)) {
      out.emplace(id, *std::move(key));
    }
  }
  return out;
}

Signature check_signature(const KeySet& keys, std::string_view token) {
  const auto last = token.rfind('.');
  const auto head = crypto::base64url_decode(token.substr(0, token.find('.')));
  if (last == std::string_view::npos || !head) return Signature::forged;
  const auto tree = JsonTree::parse(*head);
  if (!tree) return Signature::forged;
  const auto key = keys.find(tree->root()["kid"].string());
  const auto algorithm = tree->root()["alg"].string();
  if (key == keys.end() || !key->second.takes(algorithm)) return Signature::unknown;
  const auto signature = crypto::base64url_decode(token.substr(last + 1));
  const bool good =
      signature && key->second.signed_by(algorithm, token.substr(0, last), *signature);
  return good ? Signature::good : Signature::forged;
}

Signature TokenKeys::check(std::string_view token) {
  const auto found = check_signature(keys_, token);
  const auto age = Clock::now() - asked_;
  if (!call_ && age >= k_between && (found != Signature::good || age >= k_last)) read_again();
  return found;
}

void TokenKeys::read_again() {
  asked_ = Clock::now();
  http::RequestHead head;
  head.method = "GET";
  head.target = "/openid/v1/jwks";
  head.headers.add("Accept", "application/jwk-set+json, application/json");
  call_ = std::make_unique<upstream::BufferedCall>(
      upstream_.caller(loop_), std::move(head), upstream::CallOptions{}, k_max_set,
      [this](const Result<upstream::Answer>& answer) {
        const auto call = std::move(call_);
        // Those that are known stay as long as upstream is only out of reach.
        if (!answer && answer.error().code() != Code::too_large) return;
        auto keys = answer && answer->ok() ? read_key_set(answer->body)
                                           : fail(Code::not_found, "it publishes none");
        if (!keys) {
          log::debug("gateway", "upstream does not tell the keys of its tokens: {}",
                     keys.error().message());
          const auto status = answer ? answer->head.status : 0;
          if (status >= 500 || status == 401 || status == 408 || status == 429) return;
          keys_.clear();
          return;
        }
        keys_ = *std::move(keys);
      });
}

} // namespace zoo::gateway
