// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/view_source.hpp"

#include "common/base/make_room.hpp"
#include "common/crypto/certificate.hpp"
#include "common/kube/age.hpp"
#include "daemon/access/passage.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/tenants/authorizer.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/kept.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/upstream/upstream.hpp"

#include <utility>

namespace zoo::tenants {
namespace {

using access::Principal;
using access::Route;
using access::View;

std::string upstream_user(std::string_view tenant) { return fmt::format("zoo:{}", tenant); }

/// A certificate with its hash, which its connection knows.
struct Der {
  std::string_view bytes;
  std::size_t hash;
};

tl::unexpected<Error> not_served(const TenantEntry& entry) {
  return fail(Code::unauthorized, "Unauthorized: this tenant is {}",
              entry.phase == Phase::suspended ? "suspended" : "not served");
}

} // namespace

struct TenantViewSource::Holder {
  Identity claimed;
  Principal principal; ///< what it comes to where it is let in
};

struct TenantViewSource::Holders {
  struct OwnDer {
    std::string bytes;
    std::size_t hash;
  };
  struct HashOfDer {
    using is_transparent = void;
    std::size_t operator()(const auto& der) const { return der.hash; }
  };
  struct SameDer {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const { return a.bytes == b.bytes; }
  };

  std::unordered_map<OwnDer, std::shared_ptr<const Holder>, HashOfDer, SameDer> by_der;
};

TenantViewSource::TenantViewSource(net::Loop& loop, const ViewParts& parts, DefaultTerms terms)
    : loop_(loop), parts_(parts), terms_(std::move(terms)),
      tokens_(loop, parts.upstream, parts.directory), holders_(std::make_unique<Holders>()) {}

TenantViewSource::~TenantViewSource() = default;

tl::unexpected<Error> TenantViewSource::stale() {
  return fail(Code::unavailable, "this server has not heard for too long who may be let in: its "
                                 "store is away; try again later");
}

Result<Route> TenantViewSource::by_certificate(const http::ConnectionInfo& connection) {
  if (!connection.peer_certificate_verified) {
    return fail(Code::unauthorized,
                "Unauthorized: the client certificate is expired or of an unknown authority");
  }
  if (too_stale()) return stale();
  ZOO_TRY(const auto holder, holder_of(connection));
  const auto& claimed = holder->claimed;
  const auto entry = parts_.directory.snapshot()->find(claimed.tenant);
  // One answer for a tenant that never was and one that came back under its ID: nobody learns
  // which IDs exist.
  if (!entry || !entry->honours_certificate(claimed.uid, claimed.serial, claimed.epoch) ||
      claimed.expires <= kube::unix_now()) { // which it was not yet at the handshake
    return fail(Code::unauthorized, "Unauthorized: this certificate is not valid any more");
  }
  if (!entry->admits()) return not_served(*entry);
  return Route{parts_.upstream, view_of(entry),
               std::shared_ptr<const Principal>(holder, &holder->principal)};
}

void TenantViewSource::by_token(const http::ConnectionInfo&, const std::string& token,
                                std::function<void(Result<Route>)> done) {
  if (too_stale()) return done(stale());
  tokens_.authenticate(token, [this, done = std::move(done)](Result<TokenUser> user) {
    if (!user) return done(fail(user.error()));
    done(Route{parts_.upstream, view_of(user->tenant),
               std::make_shared<const Principal>(std::move(user->principal))});
  });
}

bool TenantViewSource::still(const Route& route) {
  const auto& who = route.principal();
  const auto entry = parts_.directory.snapshot()->find(who.id);
  if (!entry || !entry->admits()) return false;
  return who.credential == access::k_token_credential
             ? entry->honours_token(route.view->uid, who.issued)
             : entry->honours_certificate(route.view->uid, who.credential, who.issued);
}

std::shared_ptr<const Principal> TenantViewSource::claimed(const http::ConnectionInfo& connection) {
  const auto holder = holder_of(connection);
  if (!holder) return nullptr;
  return {*holder, &(*holder)->principal};
}

Result<std::shared_ptr<const TenantViewSource::Holder>>
TenantViewSource::holder_of(const http::ConnectionInfo& connection) {
  const Der der{connection.peer_certificate_der, connection.peer_certificate_hash};
  if (const auto known = holders_->by_der.find(der); known != holders_->by_der.end())
    return known->second;
  ZOO_TRY(const auto certificate, crypto::Certificate::from_der(connection.peer_certificate_der));
  auto holder = std::make_shared<Holder>();
  ZOO_TRY(holder->claimed, identity_of(certificate));
  const auto& claimed = holder->claimed;
  auto& principal = holder->principal;
  principal.id = claimed.tenant;
  principal.user = claimed.user;
  principal.groups = claimed.groups;
  principal.groups.emplace_back(authz::k_authenticated);
  principal.credential = claimed.serial;
  principal.issued = claimed.epoch;
  principal.expires = claimed.expires;
  principal.upstream_fields = access::as_tenant_user(upstream_user(claimed.tenant), principal);
  Holders::OwnDer own{connection.peer_certificate_der, der.hash};
  make_room(holders_->by_der, own, k_max_holders);
  holders_->by_der.emplace(std::move(own), holder);
  return holder;
}

void TenantViewSource::set_terms(const DefaultTerms& terms) {
  terms_ = terms;
  views_.clear(); // they hold the terms
}

std::shared_ptr<const View>
TenantViewSource::view_of(const std::shared_ptr<const TenantEntry>& entry) {
  auto names = parts_.upstream.shared_names();
  auto relay = parts_.relay && !entry->webhooks_direct ? parts_.relay() : nullptr;
  auto found = views_.find(entry->id);
  if (found == views_.end()) {
    make_room(views_, entry->id, k_max_views);
    found = views_.try_emplace(entry->id).first;
  }
  auto& cached = found->second;
  auto authorities = parts_.authorities ? parts_.authorities() : nullptr;
  const bool inside = authorities != nullptr && (!parts_.inside || parts_.inside(*entry));
  if (cached.entry != entry || cached.names != names || cached.relay != relay ||
      cached.authorities != authorities || cached.inside != inside) {
    const translate::Mapping mapping(entry->id, names, inside ? authorities : nullptr);
    View view{access::k_tenant_answers,
              mapping,
              entry->uid,
              entry->created,
              std::make_shared<const TenantAuthorizer>(parts_.policies, loop_, mapping,
                                                       parts_.administrators),
              upstream_user(entry->id),
              entry->audit,
              api::merged(terms_.guards, entry->terms.guards),
              api::merged(terms_.quota, entry->terms.quota),
              api::merged(terms_.flow, entry->terms.flow),
              parts_.share_of(entry->id),
              access::NamespaceTexts{namespace_text, binding_text, inside_patch,
                                     inside_label(entry->inside), kept_texts},
              nullptr,
              nullptr,
              relay};
    view.authorities = authorities;
    view.inside = inside;
    cached.view = std::make_shared<const View>(std::move(view));
    cached.relay = std::move(relay);
    cached.entry = entry;
    cached.names = std::move(names);
    cached.authorities = std::move(authorities);
    cached.inside = inside;
  }
  return cached.view;
}

} // namespace zoo::tenants
