// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/token_signature.hpp"

#include "common/crypto/digest.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <set>
#include <utility>

namespace zoo::upstream {
namespace {

using translate::JsonNode;
using translate::JsonTree;
using translate::JsonType;

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
  if (last == std::string_view::npos || !head) return Signature::none;
  const auto tree = JsonTree::parse(*head);
  if (!tree) return Signature::none;
  const auto key = keys.find(tree->root()["kid"].string());
  const auto algorithm = tree->root()["alg"].string();
  if (key == keys.end() || !key->second.takes(algorithm)) return Signature::unknown;
  const auto signature = crypto::base64url_decode(token.substr(last + 1));
  const bool good =
      signature && key->second.signed_by(algorithm, token.substr(0, last), *signature);
  return good ? Signature::good : Signature::forged;
}

} // namespace zoo::upstream
