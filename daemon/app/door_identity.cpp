// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/door_identity.hpp"

#include "common/crypto/issue.hpp"
#include "common/crypto/key.hpp"
#include "daemon/net/address.hpp"
#include "daemon/tenants/pki.hpp"

#include <chrono>
#include <utility>

namespace zoo::app {
namespace {

constexpr std::chrono::hours k_identity_validity{365 * 24};

} // namespace

Result<DoorIdentity> issue_door_identity(const tenants::Pki& pki, std::string common_name,
                                         const std::string& host) {
  crypto::CertificateRequest request;
  request.common_name = std::move(common_name);
  if (net::is_ip_address(host)) {
    request.ip_addresses = {host};
  } else {
    request.dns_names = {host};
  }
  request.validity = k_identity_validity;
  request.server = true;
  ZOO_TRY(const auto key, crypto::PrivateKey::generate_p256());
  ZOO_TRY(auto certificate, crypto::issue(pki.ca(), pki.ca_key(), key, request));
  net::TlsServerOptions options;
  options.certificate_chain_pem = certificate.to_pem();
  options.key_pem = key.to_pem();
  return DoorIdentity{std::move(options), std::move(certificate)};
}

} // namespace zoo::app
