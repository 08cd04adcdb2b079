// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"
#include "common/base/result.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/upstream/change_follower.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// The ConfigMap in which kube-apiserver says what it authenticates clients by, in the namespace
/// kube-system.
inline constexpr std::string_view k_authentication_path =
    "/api/v1/namespaces/kube-system/configmaps";
inline constexpr std::string_view k_authentication_name = "extension-apiserver-authentication";

/// The authorities of client certificates that upstream takes, as PEM, of that ConfigMap as JSON:
/// its key client-ca-file, without `never`, which is the authority of tenants' certificates.
/// "": there are none. Code::invalid: they cannot be read.
Result<std::string> client_authorities(std::string_view config_map,
                                       const crypto::Certificate& never);

/// Client authorities, to be found by what a connection says of them. Immutable; any thread.
class Authorities {
public:
  /// As client_authorities() tells them.
  explicit Authorities(const std::string& pem);
  const std::string& pem() const { return pem_; }
  /// Is the certificate with this SHA-256 (ConnectionInfo::peer_authority) one of them?
  bool include(std::string_view sha256) const;

private:
  const std::string pem_;
  std::vector<crypto::Sha256> digests_;
};

/// Follows the ConfigMap. On one loop, and destroyed when that has stopped.
class ClientAuthority {
public:
  /// `first`: what was read at the start. `changed` is called on the loop when authorities() are
  /// other than before. `never` must outlive it.
  ClientAuthority(upstream::Upstream& upstream, net::Loop& loop, const std::string& first,
                  const crypto::Certificate& never, std::function<void()> changed);

  void start(); ///< any thread
  /// As they were read last. Never null; any thread.
  std::shared_ptr<const Authorities> authorities() const { return authorities_.load(); }

private:
  void take(std::string_view config_map);

  Published<const Authorities> authorities_;
  const crypto::Certificate& never_;
  const std::function<void()> changed_;
  bool seen_ = false; ///< since the follower looked last
  std::unique_ptr<upstream::ChangeFollower> follower_;
};

} // namespace zoo::accounts
