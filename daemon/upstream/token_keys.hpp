// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/buffered_call.hpp"
#include "daemon/upstream/token_signature.hpp"

#include <chrono>
#include <memory>
#include <string_view>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {

class Upstream;

/// The keys that upstream signs tokens of ServiceAccounts with, as it publishes them
/// (/openid/v1/jwks). They only say which tokens are not worth a question: upstream may sign with
/// keys that it does not publish (KEP-740), and may publish none. Loop thread.
class TokenKeys {
public:
  TokenKeys(net::Loop& loop, Upstream& upstream) : loop_(loop), upstream_(upstream) {}

  /// Asks upstream for its keys beside, when they are old or do not tell: the answer is for later
  /// tokens.
  Signature check(std::string_view token);
  bool any() const { return !keys_.empty(); }

  static constexpr std::chrono::minutes k_last{5};     ///< then they are read again
  static constexpr std::chrono::seconds k_between{10}; ///< two readings, at least

private:
  void read_again();

  net::Loop& loop_;
  Upstream& upstream_;
  KeySet keys_;
  std::chrono::steady_clock::time_point asked_{};
  std::unique_ptr<BufferedCall> call_;
};

} // namespace zoo::upstream
