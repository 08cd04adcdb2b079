// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_view_source.hpp"

#include "common/base/make_room.hpp"
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/access/local_api.hpp"
#include "daemon/access/passage.hpp"
#include "daemon/accounts/account_api.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/rules.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <utility>

namespace zoo::accounts {
namespace {

using access::Principal;
using access::Route;
using access::View;

/// What the URI of a tenant's certificate begins with (tenants::k_uid_uri_prefix).
constexpr std::string_view k_tenant_uri = "urn:zoo:tenant:";
constexpr std::size_t k_max_object = 1024 * 1024;

tl::unexpected<Error> refused_token() {
  return fail(Code::unauthorized, "Unauthorized: the bearer token is not valid here");
}

/// What all of one user is counted under.
std::string id_of(const Principal& principal) { return "u:" + principal.user; }

Result<Principal> read_certificate(const crypto::Certificate& certificate) {
  const auto refused = [](std::string_view why) {
    return fail(Code::unauthorized, "Unauthorized: the client certificate is of nobody here: {}",
                why);
  };
  Principal out;
  auto user = certificate.common_name();
  if (!user) return refused(user.error().message());
  auto groups = certificate.organizations();
  if (!groups) return refused(groups.error().message());
  const auto uris = certificate.uri_sans();
  if (!uris) return refused(uris.error().message());
  const bool tenants = std::any_of(uris->begin(), uris->end(), [](const std::string& uri) {
    return uri.starts_with(k_tenant_uri);
  });
  if (tenants) return refused("it is a tenant's");
  out.user = *std::move(user);
  out.groups = *std::move(groups);
  if (std::find(out.groups.begin(), out.groups.end(), authz::k_authenticated) == out.groups.end())
    out.groups.emplace_back(authz::k_authenticated);
  out.credential = certificate.serial();
  out.expires = std::chrono::system_clock::to_time_t(certificate.not_after());
  ZOO_TRY_VOID(access::check_caller(out));
  return out;
}

std::shared_ptr<const Principal> finished(Principal principal) {
  principal.id = id_of(principal);
  principal.upstream_fields = access::as_caller(principal);
  return std::make_shared<const Principal>(std::move(principal));
}

/// Of a namespace's metadata, as upstream tells it: is it a tenant's? Code::unauthorized if there
/// is none.
Result<bool> is_tenants(const Result<upstream::Answer>& answer) {
  if (!answer) {
    return fail(Code::unavailable, "the bearer token cannot be verified: {}",
                answer.error().message());
  }
  if (answer->head.status == 404) return refused_token();
  const auto tree = translate::JsonTree::parse(answer->body);
  if (!answer->ok() || !tree) {
    return fail(Code::unavailable, "the bearer token cannot be verified: upstream answered {}",
                answer->head.status);
  }
  return static_cast<bool>(tree->root()["metadata"]["labels"][translate::k_tenant_label]);
}

} // namespace

AccountViewSource::AccountViewSource(net::Loop& loop, const AccountViewParts& parts, api::Flow flow)
    : loop_(loop), parts_(parts), flow_(flow),
      authorizer_(std::make_shared<const AccountAuthorizer>(parts.rights)),
      keys_(loop, parts.upstream), memory_(k_max_remembered), alive_(std::make_shared<int>(0)) {}

AccountViewSource::~AccountViewSource() = default;

Result<Route> AccountViewSource::by_certificate(const http::ConnectionInfo& connection) {
  if (!connection.peer_certificate_verified) {
    return fail(Code::unauthorized,
                "Unauthorized: the client certificate is expired or of an unknown authority");
  }
  if (!parts_.trusts(connection.peer_authority)) // which it was at the handshake
    return fail(Code::unauthorized, "Unauthorized: the upstream takes no certificates of this "
                                    "certificate's authority any more");
  ZOO_TRY(auto who, holder_of(connection));
  const auto space = authz::service_account(who->user).name_space;
  if (!space.empty() && !parts_.known_space(space))
    return fail(Code::unauthorized, "Unauthorized: the client certificate is of nobody here: it is "
                                    "a ServiceAccount's in a tenant's namespace, or in none");
  if (who->expires <= kube::unix_now()) // which it was not yet at the handshake
    return fail(Code::unauthorized, "Unauthorized: this certificate is not valid any more");
  return route_of(std::move(who));
}

Result<AccountViewSource::PrincipalPtr>
AccountViewSource::holder_of(const http::ConnectionInfo& connection) {
  const auto& der = connection.peer_certificate_der;
  if (const auto known = holders_.find(der); known != holders_.end()) return known->second;
  ZOO_TRY(const auto certificate, crypto::Certificate::from_der(der));
  ZOO_TRY(auto principal, read_certificate(certificate));
  make_room(holders_, der, k_max_holders);
  return holders_.emplace(der, finished(std::move(principal))).first->second;
}

Route AccountViewSource::route_of(PrincipalPtr who) {
  auto found = views_.find(who->id);
  if (found == views_.end()) {
    static const auto no_names = std::make_shared<const translate::SharedNames>();
    make_room(views_, who->id, k_max_views);
    found = views_
                .emplace(who->id, std::make_shared<const View>(View{
                                      access::k_account_answers, translate::Mapping("", no_names),
                                      "", "", authorizer_, "", std::nullopt, api::Guards(),
                                      api::Quota(), flow_, parts_.share_of(who->id),
                                      access::NamespaceTexts{}, parts_.api, parts_.rights}))
                .first;
  }
  return {parts_.upstream, found->second, std::move(who)};
}

void AccountViewSource::set_flow(const api::Flow& flow) {
  flow_ = flow;
  views_.clear(); // they hold it
}

void AccountViewSource::by_token(const http::ConnectionInfo& connection, const std::string& token,
                                 std::function<void(Result<Route>)> done) {
  if (token.size() > k_max_token) return done(refused_token());
  auto to_route = [this, done = std::move(done)](const Result<PrincipalPtr>& who) {
    if (!who) return done(fail(who.error()));
    done(route_of(*who));
  };
  const std::string key(crypto::view(crypto::sha256(token)));
  if (const auto* known = memory_.find(key)) return to_route(Result<PrincipalPtr>(*known));
  const auto signature = keys_.check(token);
  if (signature == upstream::Signature::forged) return to_route(refused_token());
  const bool anybodys = signature == upstream::Signature::none ||
                        (signature == upstream::Signature::unknown && keys_.any());
  ask(key, {connection.peer, anybodys, nullptr}, token, std::move(to_route));
}

void AccountViewSource::ask(const std::string& key, About about, const std::string& token,
                            std::function<void(Result<PrincipalPtr>)> done) {
  std::function<void(Result<PrincipalPtr>)> heard = std::move(done);
  if (memory_.join(key, heard)) return;
  const auto all = memory_.count([](const About&) { return true; });
  const auto of_peer = memory_.count([&](const About& other) { return other.peer == about.peer; });
  if (all >= k_max_asked || of_peer >= k_max_asked_of_connection)
    return heard(fail(Code::too_many_requests, "too many tokens are being verified; try again"));
  auto review = std::make_unique<upstream::TokenReview>(
      parts_.upstream.caller(loop_), parts_.upstream.tally(), token, "",
      [this, key](const Result<upstream::TokenUser>& answer) { reviewed(key, answer); });
  memory_.ask(key, std::move(about), std::move(review), std::move(heard));
}

void AccountViewSource::reviewed(const std::string& key,
                                 const Result<upstream::TokenUser>& answer) {
  if (memory_.asked(key) == nullptr) return;
  if (!answer) return answered(key, fail(answer.error()));
  Principal principal;
  principal.user = answer->user;
  principal.uid = answer->uid;
  principal.groups = answer->groups;
  principal.extra = answer->extra;
  principal.credential = access::k_token_credential;
  if (auto good = access::check_caller(principal); !good) return answered(key, fail(good.error()));
  const auto account = authz::service_account(principal.user);
  const std::string space(account ? account.name_space : std::string_view());
  auto who = finished(std::move(principal));
  if (space.empty() || parts_.known_space(space)) return answered(key, std::move(who));
  look_at_space(key, space, std::move(who));
}

void AccountViewSource::look_at_space(const std::string& key, const std::string& name,
                                      PrincipalPtr who) {
  auto head = upstream::get_head("/api/v1/namespaces/" + name, translate::k_partial_accept);
  memory_.asked(key)->about.look = std::make_unique<upstream::BufferedCall>(
      parts_.upstream.caller(loop_), std::move(head), upstream::CallOptions{}, k_max_object,
      [this, key, who = std::move(who)](const Result<upstream::Answer>& answer) {
        const auto tenants = is_tenants(answer);
        if (!tenants) return answered(key, fail(tenants.error()));
        if (*tenants) return answered(key, refused_token());
        answered(key, who);
      });
}

void AccountViewSource::answered(const std::string& key, const Result<PrincipalPtr>& who) {
  if (memory_.asked(key) == nullptr) return;
  const auto question = memory_.take(key);
  // Anybody can make what nobody has signed: it takes no room from those that are good.
  if (who || (who.error().code() == Code::unauthorized && !question.about.anybodys))
    memory_.remember(key, who, who ? k_remembered : k_refusal_remembered);
  const std::weak_ptr<void> alive = alive_;
  for (const auto& done : question.waiting) {
    done(who);
    if (alive.expired()) return;
  }
}

/// Certificates and tokens are upstream's to withdraw: streams ask for theirs again.
bool AccountViewSource::still(const Route&) { return true; }

std::shared_ptr<const Principal>
AccountViewSource::claimed(const http::ConnectionInfo& connection) {
  return holder_of(connection).value_or(nullptr);
}

} // namespace zoo::accounts
