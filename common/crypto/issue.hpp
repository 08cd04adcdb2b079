// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/crypto/certificate.hpp"
#include "common/crypto/key.hpp"
#include "common/crypto/signing_request.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::crypto {

/// What a certificate shall say. Built by zood, never copied from a CSR as a whole.
struct CertificateRequest {
  std::string common_name; ///< 1..64 characters (RFC 5280 ub-common-name)
  std::vector<std::string> organizations, organizational_units;
  std::vector<std::string> uris, dns_names, ip_addresses; ///< subjectAltName
  std::chrono::seconds validity{0};
  bool server = false, client = false; ///< extendedKeyUsage; at least one
};

/// Certificates begin five minutes ago: clocks of clients differ.
inline constexpr std::chrono::minutes k_backdate{5};

/// Signs with SHA-256; random 128-bit serial, SKI and AKI, digitalSignature, CA:FALSE. Never
/// outlives the CA. Code::invalid for a request that breaks a rule (the message says which),
/// or a CA key that does not belong to the CA.
Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key,
                          const PrivateKey& subject_key, const CertificateRequest& request);

/// The same for the key of a request that somebody else made; nothing else is taken from it.
Result<Certificate> issue(const Certificate& ca, const PrivateKey& ca_key,
                          const SigningRequest& subject, const CertificateRequest& request);

/// A self-signed CA for that key: CA:TRUE, pathlen 0, keyCertSign and cRLSign.
Result<Certificate> make_ca(const PrivateKey& key, std::string_view common_name,
                            std::chrono::seconds validity);

} // namespace zoo::crypto
