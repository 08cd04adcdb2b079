// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "daemon/net/tls.hpp"

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

namespace zoo::tenants {
class Pki;
}

namespace zoo::app {

/// What the TLS doors show: the certificate that zood.yaml names, else one by the tenants' CA. Any
/// thread; outlived by `pki`.
class DoorCertificates {
public:
  DoorCertificates(tenants::Pki& pki, const config::Values& values);

  /// Each at most once. Tenants' sessions may be resumed, at every replica and after a start;
  /// administrators' may not.
  Result<std::shared_ptr<net::TlsServerContext>> open_tenants(Secret ticket_key);
  Result<std::shared_ptr<net::TlsServerContext>> open_admin();

  /// At SIGHUP: files are read again, from where `values` has them. What fails is logged, and the
  /// door goes on as it was.
  void reload(const config::Values& values);

private:
  Result<net::TlsServerOptions> identity(const std::string& client_ca);
  Result<net::TlsServerOptions> tenants_identity();

  tenants::Pki& pki_;
  std::mutex mutex_;
  std::filesystem::path certificate_file_, key_file_; ///< empty: zood's own
  Secret ticket_key_;
  std::shared_ptr<net::TlsServerContext> tenants_, admin_;
};

} // namespace zoo::app
