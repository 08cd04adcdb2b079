// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/crypto/certificate.hpp"
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

/// Follows the ConfigMap. On one loop; made and destroyed while that runs.
class ClientAuthority {
public:
  /// `first`: what was read at the start. `changed` is called on the loop with authorities that are
  /// other than before. `never` must outlive it.
  ClientAuthority(upstream::Upstream& upstream, net::Loop& loop, std::string first,
                  const crypto::Certificate& never,
                  std::function<void(const std::string& pem)> changed);

  void start(); ///< any thread

private:
  void take(std::string_view config_map);

  std::string pem_;
  const crypto::Certificate& never_;
  const std::function<void(const std::string& pem)> changed_;
  bool seen_ = false; ///< since the follower looked last
  std::unique_ptr<upstream::ChangeFollower> follower_;
};

} // namespace zoo::accounts
