// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <memory>
#include <string_view>

struct evp_pkey_st;

namespace zoo::crypto {

/// A private key (zood makes ECDSA P-256; any key OpenSSL reads is taken). Move-only value; safe to
/// use from several threads at once as long as none moves it.
class PrivateKey {
public:
  static Result<PrivateKey> generate_p256();

  /// PKCS#8, or a traditional EC or RSA block, not encrypted: a pass phrase is never asked for.
  /// Code::invalid, and the message never holds any of the text.
  static Result<PrivateKey> from_pem(std::string_view pem);

  PrivateKey(PrivateKey&& other) noexcept;
  PrivateKey& operator=(PrivateKey&& other) noexcept;
  ~PrivateKey();

  /// PEM, not encrypted: of an EC key the traditional block ("BEGIN EC PRIVATE KEY"), for it stands
  /// in kubeconfigs, and fabric8's client takes a PKCS#8 block ("BEGIN PRIVATE KEY") for an RSA
  /// key. Of other keys PKCS#8.
  Secret to_pem() const;

  bool same_public_key(const PrivateKey& other) const;

  evp_pkey_st* native() const { return key_.get(); }

private:
  struct Free {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  explicit PrivateKey(evp_pkey_st* key);
  std::unique_ptr<evp_pkey_st, Free> key_;
};

} // namespace zoo::crypto
