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

} // namespace zoo::crypto
