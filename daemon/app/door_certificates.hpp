// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/config/config.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/tenants/service.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zoo::tenants {
class Pki;
}

namespace zoo::app {

/// What the TLS doors show: the certificate that zood.yaml names, else one by the tenants' CA. That
/// one, and the administrator's in admin.kubeconfig, are made anew when a third of their life is
/// left. Any thread; outlived by `pki`.
class DoorCertificates {
public:
  static constexpr std::chrono::hours k_look{1}; ///< how often to renew()

  DoorCertificates(tenants::Pki& pki, const config::Values& values);

  /// Each at most once. Tenants' sessions may be resumed, at every replica and after a start;
  /// administrators' may not.
  Result<std::shared_ptr<net::TlsServerContext>> open_tenants(Secret ticket_key);
  Result<std::shared_ptr<net::TlsServerContext>> open_admin();
  /// What a further door shows that trusts clients of these authorities; it reads this again when
  /// it renews, and resumes no sessions.
  Result<net::TlsServerOptions> identity_for(const std::string& client_ca) {
    const std::scoped_lock lock(mutex_);
    return identity(client_ca);
  }
  /// <dir>/admin.kubeconfig for that server, kept fresh from now on. Where it cannot be written the
  /// log says so, and renew() tries again.
  void write_admin_kubeconfig(std::string server);

  /// At SIGHUP: files are read again, from where `values` has them. What fails is logged, and the
  /// door goes on as it was.
  void reload(const config::Values& values);
  /// Makes anew what is due, as doors and admin.kubeconfig then have it; a failure is logged.
  void renew();

  /// The tenants' door is to be good for these names and addresses, too: zood's own certificate is
  /// made anew where it is not, and shown at once. Returns those that the one that is shown is not
  /// good for, which is then zood.yaml's.
  std::vector<std::string> cover(const std::vector<std::string>& hosts);

  using Time = std::chrono::system_clock::time_point;
  std::optional<Time> serving_ends() const;
  std::optional<Time> admin_ends() const; ///< nullopt: there is no admin.kubeconfig
  /// For doctor: what the doors show, and trust. `advertised`: the host that kubeconfigs name.
  std::vector<tenants::Finding> findings(const std::string& advertised) const;

private:
  Result<net::TlsServerOptions> identity(const std::string& client_ca);
  Result<std::shared_ptr<net::TlsServerContext>> open(const net::TlsServerOptions& options);
  struct Shown {
    net::TlsServerOptions options;
    std::string trusted;  ///< what kubeconfigs trust then; "": the tenants' CA
    std::string stranger; ///< stranger_ then
  };
  Result<Shown> tenants_identity();
  Result<Shown> with_further(Shown shown) const;
  bool take(net::TlsServerContext& door, const net::TlsServerOptions& options);
  static bool refused(const Error& error); ///< logged; false
  bool rewrite_admin_kubeconfig();
  void note(const net::TlsServerOptions& options);
  void load();

  tenants::Pki& pki_;
  mutable std::mutex mutex_;
  std::filesystem::path certificate_file_, key_file_; ///< empty: zood's own
  std::filesystem::path ca_file_;                     ///< empty: the tenants' CA
  std::filesystem::path further_ca_file_;             ///< trusted beside it; empty: none
  Secret ticket_key_;
  std::shared_ptr<net::TlsServerContext> tenants_, admin_;
  std::string admin_server_;
  std::optional<crypto::Certificate> serving_, admin_certificate_;
  std::string stranger_; ///< of whom zood.yaml's certificate is not, though kubeconfigs trust him
};

} // namespace zoo::app
