// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;

namespace zoo::crypto {

/// A PKCS#10 request (RFC 2986) whose signature shows that its maker holds the key. Of its subject
/// only common name and organizations are told; everything else a signer must not copy.
/// Move-only value.
class SigningRequest {
public:
  /// Code::invalid: no request, a wrong signature, two common names, names that are not UTF-8 or
  /// hold control characters, a key weaker than RSA 2048 or P-224.
  static Result<SigningRequest> from_pem(std::string_view pem);

  SigningRequest(SigningRequest&& other) noexcept;
  SigningRequest& operator=(SigningRequest&& other) noexcept;
  ~SigningRequest();

  const std::string& common_name() const { return common_name_; } ///< "" if there is none
  const std::vector<std::string>& organizations() const { return organizations_; }
  evp_pkey_st* public_key() const { return key_.get(); }

private:
  struct Free {
    void operator()(evp_pkey_st* key) const noexcept;
  };
  SigningRequest() = default;
  std::string common_name_;
  std::vector<std::string> organizations_;
  std::unique_ptr<evp_pkey_st, Free> key_;
};

class PrivateKey;

/// A request for a certificate of this key and subject, PEM. Code::invalid: a name that is empty,
/// longer than 64 characters, or no clean UTF-8.
Result<std::string> signing_request_pem(const PrivateKey& key, std::string_view common_name,
                                        const std::vector<std::string>& organizations);

} // namespace zoo::crypto
