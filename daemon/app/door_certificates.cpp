// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/door_certificates.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "daemon/tenants/pki.hpp"

#include <utility>

namespace zoo::app {

DoorCertificates::DoorCertificates(tenants::Pki& pki, const config::Values& values)
    : pki_(pki), certificate_file_(values.path("tls.certificate")),
      key_file_(values.path("tls.key")) {}

Result<net::TlsServerOptions> DoorCertificates::identity(const std::string& client_ca) {
  net::TlsServerOptions options;
  options.client_ca_pem = client_ca;
  if (certificate_file_.empty()) {
    ZOO_TRY(auto pair, pki_.serving());
    options.certificate_chain_pem = std::move(pair.certificate_pem);
    options.key_pem = std::move(pair.key_pem);
  } else {
    ZOO_TRY(options.certificate_chain_pem, file::read(certificate_file_));
    ZOO_TRY(options.key_pem, file::read_secret(key_file_));
  }
  return options;
}

Result<net::TlsServerOptions> DoorCertificates::tenants_identity() {
  ZOO_TRY(auto options, identity(pki_.ca_pem()));
  options.ticket_key = ticket_key_.clone();
  return options;
}

Result<std::shared_ptr<net::TlsServerContext>> DoorCertificates::open_tenants(Secret ticket_key) {
  const std::scoped_lock lock(mutex_);
  ticket_key_ = std::move(ticket_key);
  ZOO_TRY(const auto options, tenants_identity());
  ZOO_TRY(tenants_, net::TlsServerContext::create(options));
  return tenants_;
}

Result<std::shared_ptr<net::TlsServerContext>> DoorCertificates::open_admin() {
  const std::scoped_lock lock(mutex_);
  ZOO_TRY(const auto options, identity(pki_.admin_ca_pem()));
  ZOO_TRY(admin_, net::TlsServerContext::create(options));
  return admin_;
}

void DoorCertificates::reload(const config::Values& values) {
  const std::scoped_lock lock(mutex_);
  certificate_file_ = values.path("tls.certificate");
  key_file_ = values.path("tls.key");
  for (const auto& context : {tenants_, admin_}) {
    if (!context) continue;
    auto options = context == tenants_ ? tenants_identity() : identity(pki_.admin_ca_pem());
    auto done = options ? context->reload(*options) : Result<void>(fail(options.error()));
    if (!done) log::error("app", "the certificate was not reloaded: {}", done.error().text());
  }
}

} // namespace zoo::app
