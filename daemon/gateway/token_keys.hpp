// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/jws_key.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::gateway {

enum class Signature {
  good,    ///< made with one of upstream's keys; whether the token is good upstream has to say
  forged,  ///< names one of upstream's keys, and was not made with it
  unknown, ///< names a key that upstream does not publish, or an algorithm unknown here
};

/// Public keys by key ID.
using KeySet = std::map<std::string, crypto::JwsKey, std::less<>>;

/// Reads a JSON Web Key Set (RFC 7517 5). Keys that cannot be read, are not for signatures, have no
/// ID or share it are left out. Code::bad_request for what is no set. Pure, any thread.
Result<KeySet> read_key_set(std::string_view json);

/// Holds a JWS in compact serialization (RFC 7515 5.2) against the keys. Pure, any thread.
Signature check_signature(const KeySet& keys, std::string_view token);

/// The keys that upstream signs tokens of ServiceAccounts with, as it publishes them
/// (/openid/v1/jwks). They only say which tokens are not worth a question: upstream may sign with
/// keys that it does not publish (KEP-740), and may publish none. Loop thread.
class TokenKeys {
public:
  TokenKeys(net::Loop& loop, upstream::Upstream& upstream) : loop_(loop), upstream_(upstream) {}

  /// Asks upstream for its keys beside, when they are old or do not tell: the answer is for later
  /// tokens.
  Signature check(std::string_view token);
  bool any() const { return !keys_.empty(); }

  static constexpr std::chrono::minutes k_last{5};     ///< then they are read again
  static constexpr std::chrono::seconds k_between{10}; ///< two readings, at least

private:
  void read_again();

  net::Loop& loop_;
  upstream::Upstream& upstream_;
  KeySet keys_;
  std::chrono::steady_clock::time_point asked_{};
  std::unique_ptr<upstream::BufferedCall> call_;
};

} // namespace zoo::gateway
