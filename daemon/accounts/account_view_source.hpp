// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "daemon/access/view_source.hpp"
#include "daemon/upstream/buffered_call.hpp"
#include "daemon/upstream/token_keys.hpp"
#include "daemon/upstream/token_review.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zoo::access {
class FlowShare;
class LocalApi;
class UpstreamRights;
} // namespace zoo::access
namespace zoo::net {
class Loop;
}
namespace zoo::upstream {
class Upstream;
}

namespace zoo::accounts {

/// What the sources of all loops share. Owned by the composition root, outlives them.
struct AccountViewParts {
  upstream::Upstream& upstream;
  std::shared_ptr<const access::UpstreamRights> rights;
  std::shared_ptr<const access::LocalApi> api;
  /// Is there a namespace of this name that is no tenant's? Of others upstream is asked. Any
  /// thread, never blocks.
  std::function<bool(std::string_view name)> known_space;
  /// Is the client authority with this SHA-256 (ConnectionInfo::peer_authority) among those that
  /// upstream names at this moment? Any thread, never blocks.
  std::function<bool(std::string_view sha256)> trusts;
  /// What a user has in progress, by Principal::id; any thread.
  std::function<std::shared_ptr<access::FlowShare>(const std::string& id)> share_of;
};

/// Authentication at the account door, with what upstream itself would take: a client certificate
/// of its authority, whose CN is the user and whose O are his groups; and bearer tokens of any
/// sort, by TokenReview. That the authority is still upstream's is asked again for each request, so
/// that a certificate does not outlive its authority in a connection that is open. A
/// tenant's certificate is refused here, and so is a ServiceAccount of a tenant's namespace,
/// whether it shows a token or a certificate with its name. Header fields say nothing of who
/// somebody is. Loop thread only.
class AccountViewSource final : public access::ViewSource {
public:
  AccountViewSource(net::Loop& loop, const AccountViewParts& parts, api::Flow flow);
  ~AccountViewSource() override;

  Result<access::Route> by_certificate(const http::ConnectionInfo& connection) override;
  void by_token(const http::ConnectionInfo& connection, const std::string& token,
                std::function<void(Result<access::Route>)> done) override;
  bool still(const access::Route& route) override;
  std::shared_ptr<const access::Principal> claimed(const http::ConnectionInfo& connection) override;
  std::string_view door() const override { return "accounts"; }

  void set_flow(const api::Flow& flow); ///< for requests from now on

  static constexpr std::chrono::seconds k_remembered{10}, k_refusal_remembered{2};
  static constexpr std::size_t k_max_remembered = 4096, k_max_asked = 64;
  static constexpr std::size_t k_max_asked_of_connection = 8;

private:
  using PrincipalPtr = std::shared_ptr<const access::Principal>;
  struct About {
    std::string peer; ///< of the connection that asked first
    bool anybodys;    ///< no key that upstream publishes has signed it
    std::unique_ptr<upstream::BufferedCall> look;
  };

  Result<PrincipalPtr> holder_of(const http::ConnectionInfo& connection);
  access::Route route_of(PrincipalPtr who);
  void ask(const std::string& key, About about, const std::string& token,
           std::function<void(Result<PrincipalPtr>)> done);
  void reviewed(const std::string& key, const Result<upstream::TokenUser>& answer);
  void look_at_space(const std::string& key, const std::string& name, PrincipalPtr who);
  void answered(const std::string& key, const Result<PrincipalPtr>& who);

  static constexpr std::size_t k_max_token = 16 * 1024;
  static constexpr std::size_t k_max_holders = 4096, k_max_views = 4096;
  net::Loop& loop_;
  const AccountViewParts& parts_;
  api::Flow flow_;
  const std::shared_ptr<const access::Authorizer> authorizer_;
  upstream::TokenKeys keys_;
  upstream::TokenMemory<PrincipalPtr, About> memory_;
  std::unordered_map<std::string, PrincipalPtr> holders_;                      ///< by certificate
  std::unordered_map<std::string, std::shared_ptr<const access::View>> views_; ///< by Principal::id
  std::shared_ptr<void> alive_;
};

} // namespace zoo::accounts
