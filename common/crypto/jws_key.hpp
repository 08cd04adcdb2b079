// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <memory>
#include <string_view>

struct evp_pkey_st;

namespace zoo::crypto {

/// A public key that signatures of JWTs are held against (RFC 7515, RFC 7518 3 and 6). Move-only
/// value; any thread, as long as none moves it.
class JwsKey {
public:
  /// RFC 7518 6.3.1: both numbers big-endian. Code::invalid for what OpenSSL takes for no key.
  static Result<JwsKey> rsa(std::string_view modulus, std::string_view exponent);
  /// RFC 7518 6.2.1: "P-256", "P-384" or "P-521"; coordinates of the field's full length.
  /// Code::invalid for other curves, and for a point that is not on it.
  static Result<JwsKey> ec(std::string_view curve, std::string_view x, std::string_view y);

  JwsKey(JwsKey&& other) noexcept;
  JwsKey& operator=(JwsKey&& other) noexcept;
  ~JwsKey();

  /// Is `algorithm` one of those that this key is held against: RS256, RS384, RS512 of an RSA key;
  /// ES256, ES384, ES512 of the curve of that name?
  bool takes(std::string_view algorithm) const;
  /// Was `text` signed by it? `signature` as in RFC 7518 3.3, 3.4. False for an `algorithm` that it
  /// does not take.
  bool signed_by(std::string_view algorithm, std::string_view text,
                 std::string_view signature) const;

private:
  struct Free {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  JwsKey(evp_pkey_st* key, std::size_t field) : key_(key), field_(field) {}
  std::unique_ptr<evp_pkey_st, Free> key_;
  std::size_t field_; ///< bytes of a coordinate; 0: RSA
};

} // namespace zoo::crypto
