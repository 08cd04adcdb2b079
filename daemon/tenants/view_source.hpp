// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "daemon/access/view_source.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/token_authn.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zoo::authz {
class PolicyStore;
}
namespace zoo::net {
class Loop;
}
namespace zoo::translate {
struct Relay;
struct SharedNames;
} // namespace zoo::translate
namespace zoo::upstream {
class Upstream;
}

namespace zoo::tenants {

/// The terms of a tenant that has none of its own: those of zood.yaml.
struct DefaultTerms {
  api::Guards guards;
  api::Quota quota;
  api::Flow flow;
};

/// What the sources of all loops share. Owned by the composition root, outlives them.
struct ViewParts {
  const TenantDirectory& directory; ///< thread-safe
  upstream::Upstream& upstream;
  authz::PolicyStore& policies; ///< thread-safe
  std::string administrators;   ///< the group of a tenant's super-users
  /// What a tenant has in progress, by its ID; any thread.
  std::function<std::shared_ptr<access::FlowShare>(const std::string& id)> share_of;
  /// How upstream reaches the relay of webhooks, null while it does not; any thread. Null: never.
  std::function<std::shared_ptr<const translate::Relay>()> relay{};
  /// View::authorities; any thread. Null: none (tests).
  std::function<std::shared_ptr<const std::string>()> authorities{};
  /// View::inside, of a tenant; any thread. Null: of all.
  std::function<bool(const TenantEntry& entry)> inside{};
  /// Has nothing been heard from the store for so long that nobody may be let in by what is known?
  /// Any thread, at each request, never blocks. Null: no.
  std::function<bool()> too_stale{};
};

/// Authentication at the tenants' door: certificates of zood's own authority, and tokens of the
/// tenants' ServiceAccounts. Loop thread only.
class TenantViewSource final : public access::ViewSource {
public:
  TenantViewSource(net::Loop& loop, const ViewParts& parts, DefaultTerms terms);
  ~TenantViewSource() override;

  Result<access::Route> by_certificate(const http::ConnectionInfo& connection) override;
  void by_token(const http::ConnectionInfo& connection, const std::string& token,
                std::function<void(Result<access::Route>)> done) override;
  bool still(const access::Route& route) override;
  std::shared_ptr<const access::Principal> claimed(const http::ConnectionInfo& connection) override;
  std::string_view door() const override { return "tenants"; }

  void set_terms(const DefaultTerms& terms); ///< for requests from now on

private:
  bool too_stale() const { return parts_.too_stale && parts_.too_stale(); }
  static tl::unexpected<Error> stale();
  /// Whom a certificate was made for, read once and remembered: decoding one takes longer than all
  /// the rest of a small request.
  struct Holder;
  struct Holders;
  struct CachedView {
    std::shared_ptr<const TenantEntry> entry;
    std::shared_ptr<const translate::SharedNames> names;
    std::shared_ptr<const translate::Relay> relay;
    std::shared_ptr<const std::string> authorities;
    bool inside = false;
    std::shared_ptr<const access::View> view;
  };
  Result<std::shared_ptr<const Holder>> holder_of(const http::ConnectionInfo& connection);
  std::shared_ptr<const access::View> view_of(const std::shared_ptr<const TenantEntry>& entry);

  static constexpr std::size_t k_max_holders = 4096, k_max_views = 4096;
  net::Loop& loop_;
  const ViewParts& parts_;
  DefaultTerms terms_;
  TokenAuthenticator tokens_;
  std::unordered_map<std::string, CachedView> views_; ///< by tenant ID; at most k_max_views
  std::unique_ptr<Holders> holders_;                  ///< by certificate; at most k_max_holders
};

} // namespace zoo::tenants
