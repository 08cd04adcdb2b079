// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/digest.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct x509_st;

namespace zoo::crypto {

class PrivateKey;

/// An X.509 certificate, parsed and found readable (dates, serial). Move-only value.
///
/// Names come from strangers: the accessors that return Result refuse (Code::invalid) a value that
/// is not UTF-8 or holds a NUL or another control character, so that what is compared is what is
/// meant (RFC 5280 7; a NUL inside a CN was CVE-2009-2408).
class Certificate {
public:
  static Result<Certificate> from_pem(std::string_view pem); ///< the first block of the text
  static Result<Certificate> from_der(std::string_view der); ///< the whole text, nothing behind it
  /// Every CERTIFICATE block; at least one.
  static Result<std::vector<Certificate>> bundle_from_pem(std::string_view pem);

  Certificate(Certificate&& other) noexcept;
  Certificate& operator=(Certificate&& other) noexcept;
  ~Certificate();

  std::string to_pem() const;
  const std::string& der() const { return der_; }
  Sha256 sha256() const; ///< of the DER

  Result<std::string> common_name() const; ///< empty if there is none; two are refused
  Result<std::vector<std::string>> organizations() const;
  Result<std::vector<std::string>> organizational_units() const;
  Result<std::vector<std::string>> uri_sans() const;
  Result<std::vector<std::string>> dns_sans() const;
  std::vector<std::string> ip_sans() const; ///< "127.0.0.1", "::1"; other lengths are left out

  std::string serial() const; ///< lower-case hex, two digits a byte
  std::chrono::system_clock::time_point not_before() const { return not_before_; }
  std::chrono::system_clock::time_point not_after() const { return not_after_; }
  bool is_ca() const; ///< basicConstraints CA:TRUE, and may sign certificates

  /// The signature was made with that certificate's key, and the names agree. Dates are not asked.
  bool issued_by(const Certificate& issuer) const;
  bool belongs_to(const PrivateKey& key) const; ///< the public keys are equal

  x509_st* native() const { return x509_.get(); }

private:
  struct Free {
    void operator()(x509_st* certificate) const noexcept;
  };
  using Pointer = std::unique_ptr<x509_st, Free>;
  explicit Certificate(Pointer x509);
  static Result<Certificate> checked(Pointer x509);
  Result<std::vector<std::string>> subject(int nid, std::string_view what) const;
  Result<std::vector<std::string>> sans(int type, std::string_view what) const;

  Pointer x509_;
  std::string der_;
  std::chrono::system_clock::time_point not_before_, not_after_;
};

} // namespace zoo::crypto
