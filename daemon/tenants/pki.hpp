// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/key.hpp"
#include "common/crypto/signing_request.hpp"
#include "daemon/tenants/identity.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::tenants {

struct PkiOptions {
  std::filesystem::path directory;              ///< of zood; everything lies in <directory>/pki
  std::filesystem::path ca_certificate, ca_key; ///< the tenants' CA if given: both or none
  /// Hosts that clients may use for the listeners: listen, advertise, admin.listen. Names or
  /// addresses; unspecified addresses (0.0.0.0, ::) are left out. localhost, loopback and
  /// kubernetes.default.svc are added.
  std::vector<std::string> hosts;
  std::chrono::seconds serving_validity{365 * 24 * 3600};
  bool has_tenants = false; ///< in the store: a tenants' CA that is missing was lost, then
};

struct KeyPair {
  std::string certificate_pem;
  Secret key_pem;
};

/// zood's authorities. Two of them, so that no tenant's certificate is ever an administrator's and
/// vice versa: the tenants' CA (clients, and the certificate of both TLS doors) and the
/// administrators' CA. ECDSA P-256; every file 0600 from its first byte. Any thread.
class Pki {
public:
  /// Makes what is missing, but no tenants' CA beside tenants, and never a key in the place of
  /// one that is there. Code::invalid for a tenants' CA that was lost, for a CA that is none, is
  /// expired, or whose key is another's; Code::io.
  static Result<std::unique_ptr<Pki>> open(PkiOptions options);

  const crypto::Certificate& ca() const { return ca_; }
  const crypto::PrivateKey& ca_key() const { return ca_key_; }
  std::string ca_pem() const { return ca_.to_pem(); }
  std::string admin_ca_pem() const { return admin_ca_.to_pem(); }
  const crypto::Certificate& admin_ca() const { return admin_ca_; }

  /// What kubeconfigs trust as the server's: the tenants' CA, or what was said last. "": that CA.
  void trust_server_by(std::string ca_pem);
  std::string server_ca_pem() const;

  /// The certificate of both doors; made anew when a third of its life is left, when the hosts
  /// changed or when the CA did. Call at start, at SIGHUP, and when it is due.
  Result<KeyPair> serving(const std::vector<std::string>& hosts);
  Result<KeyPair> serving() { return serving(hosts()); }
  /// More hosts for serving(), from the next call on. True if one of them is new.
  bool add_hosts(const std::vector<std::string>& more);

  /// Writes <directory>/admin.kubeconfig (0600) for https://host:port of the admin listener, with
  /// a certificate of group zoo:administrators, renewed like the serving one. Returns that one.
  Result<crypto::Certificate> write_admin_kubeconfig(std::string_view server);

  /// A fresh key and certificate of a tenant's user (identity.hpp: names are checked by the
  /// caller).
  Result<KeyPair> issue_tenant(const Holder& holder, std::string_view user,
                               const std::vector<std::string>& groups,
                               std::chrono::seconds validity) const;

  /// The same for the key of somebody's request; the subject is built here, of what the request
  /// says only user and groups are taken (checked by the caller).
  Result<std::string> issue_for(const Holder& holder, const crypto::SigningRequest& request,
                                std::chrono::seconds validity) const;

private:
  Pki(PkiOptions options, crypto::Certificate ca, crypto::PrivateKey ca_key,
      crypto::Certificate admin_ca, crypto::PrivateKey admin_ca_key);
  std::filesystem::path file(std::string_view name) const;
  std::vector<std::string> hosts() const;

  PkiOptions options_;
  crypto::Certificate ca_;
  crypto::PrivateKey ca_key_;
  crypto::Certificate admin_ca_;
  crypto::PrivateKey admin_ca_key_;
  std::mutex files_;
  mutable std::mutex hosts_lock_; ///< of options_.hosts
  mutable std::mutex server_ca_lock_;
  std::string server_ca_; ///< "": ca_
};

/// Is less than a third of its life left, or does it begin in time to come? It was made then while
/// the clock was ahead.
bool due_for_renewal(const crypto::Certificate& certificate);

} // namespace zoo::tenants
