// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"
#include "common/base/result.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/http/message.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/resources/request.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class ChangeFollower;
class Upstream;
} // namespace zoo::upstream

/// Front-proxy authentication, by which kube-apiserver tells a server behind it who asks:
/// k8s.io/apiserver pkg/authentication/request/headerrequest.
namespace zoo::accounts {

/// Where kube-apiserver says which front proxies to believe, and how they name a user.
inline constexpr std::string_view k_authentication_maps =
    "/api/v1/namespaces/kube-system/configmaps";
inline constexpr std::string_view k_authentication_map = "extension-apiserver-authentication";

/// What that ConfigMap says of front proxies. Immutable; any thread.
struct FrontProxyTerms {
  std::string client_ca_pem; ///< empty: nobody is believed
  std::vector<crypto::Certificate> authorities;
  std::vector<std::string> allowed_names; ///< of client certificates; empty: any
  std::vector<std::string> user_headers, uid_headers, group_headers, extra_prefixes;
};
using FrontProxyTermsPtr = std::shared_ptr<const FrontProxyTerms>;

/// Of the ConfigMap as JSON. Code::invalid, with the key that cannot be read: nobody is to be
/// believed then.
Result<FrontProxyTerms> read_front_proxy_terms(std::string_view config_map);

/// Is at the other end a front proxy that is to be believed? Code::unauthorized, if not, whatever
/// the request's headers say. The connection's certificate was verified when it began; here its
/// dates are asked again, and that an authority of `terms` has issued it, so that one which is no
/// more trusted does not live on in connections that are open.
Result<void> believe_front_proxy(const FrontProxyTerms& terms, const http::ConnectionInfo& peer,
                                 std::chrono::system_clock::time_point now);

/// Whom a front proxy that is believed names in the headers of a request. `system:authenticated` is
/// added to a user who is not anonymous, as every API server does. Code::unauthorized: nobody.
Result<resources::Who> front_proxy_user(const FrontProxyTerms& terms, const http::Headers& headers);

/// Follows the ConfigMap. On one loop; terms() from any thread.
class FrontProxy {
public:
  /// `first`: the terms as they were read at the start. `changed` is called on the loop with terms
  /// that are other than before.
  FrontProxy(upstream::Upstream& upstream, net::Loop& loop, FrontProxyTerms first,
             std::function<void(const FrontProxyTerms&)> changed);
  ~FrontProxy();
  FrontProxy(const FrontProxy&) = delete;
  FrontProxy& operator=(const FrontProxy&) = delete;

  void start();                     ///< any thread
  FrontProxyTermsPtr terms() const; ///< never null

private:
  void take(std::string_view config_map);

  std::function<void(const FrontProxyTerms&)> changed_;
  Published<const FrontProxyTerms> terms_;
  bool seen_ = false; ///< since the follower looked last
  std::unique_ptr<upstream::ChangeFollower> follower_;
};

} // namespace zoo::accounts
