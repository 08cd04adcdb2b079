// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <string>
#include <string_view>

namespace zoo::crypto {

/// AES-256-GCM with one key. sealed = nonce (12 random bytes) | ciphertext | tag (16). Random
/// nonces bound the use of one key: 2^32 messages (NIST SP 800-38D 8.3), far above what the
/// store's keys seal. Any thread; nothing changes after construction.
class Sealer {
public:
  static constexpr std::size_t k_key_size = 32;

  /// The key is exactly k_key_size bytes; anything else is a bug (std::invalid_argument).
  explicit Sealer(Secret key32);

  /// `associated` is proven by open(), not carried: say what the text is for and whose it is.
  /// Throws std::runtime_error where there is no entropy.
  std::string seal(std::string_view plaintext, std::string_view associated) const;

  /// Code::invalid for whatever was not sealed with this key and the same `associated`.
  Result<Secret> open(std::string_view sealed, std::string_view associated) const;

private:
  Secret key_;
};

} // namespace zoo::crypto
