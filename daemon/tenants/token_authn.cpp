// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/token_authn.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <utility>

namespace zoo::tenants {

TokenAuthenticator::TokenAuthenticator(net::Loop& loop, upstream::Upstream& upstream,
                                       const TenantDirectory& directory)
    : loop_(loop), upstream_(upstream), directory_(directory), keys_(loop, upstream),
      memory_(k_max_remembered), alive_(std::make_shared<int>(0)) {}

TokenAuthenticator::~TokenAuthenticator() = default;

Result<TokenUser> TokenAuthenticator::admit(const TokenUser& user) const {
  // A tenant may have gone, and another come under its ID, since the token was asked about.
  const auto entry = directory_.snapshot()->find(user.tenant->id);
  if (!entry || !entry->honours_token(user.tenant->uid, user.principal.issued))
    return refused_token();
  if (!entry->admits()) {
    return fail(Code::unauthorized, "Unauthorized: this tenant is {}",
                entry->phase == Phase::suspended ? "suspended" : "not served");
  }
  auto out = user;
  out.tenant = entry;
  return out;
}

void TokenAuthenticator::authenticate(const std::string& token, Done done) {
  auto claims = read_token(token);
  if (!claims || claims->expires <= kube::unix_now()) return done(refused_token());
  if (!directory_.snapshot()->find(claims->tenant)) return done(refused_token());
  const std::string key(crypto::view(crypto::sha256(token)));
  if (const auto* known = memory_.find(key)) {
    if (!*known) return done(fail(known->error()));
    return done(admit(**known));
  }
  const auto signature = keys_.check(token);
  if (signature == upstream::Signature::none || signature == upstream::Signature::forged)
    return done(refused_token());
  const bool unknown = signature == upstream::Signature::unknown && keys_.any();
  ask(key, token, *std::move(claims), unknown, std::move(done));
}

void TokenAuthenticator::ask(const std::string& key, const std::string& token, TokenClaims claims,
                             bool unknown, Done done) {
  if (memory_.join(key, done)) return;
  // Both sorts have places of their own.
  const auto all = memory_.count([&](const About& about) { return about.unknown == unknown; });
  const auto of_tenant = memory_.count([&](const About& about) {
    return about.unknown == unknown && about.claims.tenant == claims.tenant;
  });
  const bool full = all >= (unknown ? k_max_unknown : k_max_asked) ||
                    of_tenant >= (unknown ? k_max_unknown_of_tenant : k_max_of_tenant);
  if (full) {
    return done(fail(Code::too_many_requests, "too many tokens are being verified; try again"));
  }
  auto review = std::make_unique<upstream::TokenReview>(
      upstream_.caller(loop_), upstream_.tally(), token, access::k_audience,
      [this, key](const Result<upstream::TokenUser>& answer) { answered(key, answer); });
  memory_.ask(key, {std::move(claims), unknown}, std::move(review), std::move(done));
}

void TokenAuthenticator::answered(const std::string& key,
                                  const Result<upstream::TokenUser>& answer) {
  if (memory_.asked(key) == nullptr) return;
  const auto question = memory_.take(key);
  const auto& [claims, unknown] = question.about;
  const auto user = answer ? read(claims, *answer) : fail(answer.error());
  // Anybody can make what nobody has signed: it takes no room from those that are good.
  const bool said = answer || answer.error().code() == Code::unauthorized;
  if (said && (user || !unknown)) {
    const auto left = std::chrono::seconds(claims.expires - kube::unix_now());
    memory_.remember(key, user, user ? std::min(k_remembered, left) : k_refusal_remembered);
  }
  const std::weak_ptr<void> alive = alive_;
  for (const auto& done : question.waiting) {
    done(user);
    if (alive.expired()) return;
  }
}

Result<TokenUser> TokenAuthenticator::read(const TokenClaims& claims,
                                           const upstream::TokenUser& user) const {
  // An upstream that does not speak of audiences has not checked them.
  if (!user.for_audience || user.user != claims.upstream_user) return refused_token();
  ZOO_TRY(const auto strangers, upstream_.unlabelled_namespaces());
  if (strangers->contains(claims.tenant + "-" + claims.name_space)) {
    return refused_token(); // not the tenant's, whatever its name
  }
  TokenUser out;
  out.tenant = directory_.snapshot()->find(claims.tenant);
  if (!out.tenant) return refused_token();
  auto& principal = out.principal;
  principal.id = claims.tenant;
  principal.user = "system:serviceaccount:" + claims.name_space + ":" + claims.name;
  principal.uid = user.uid;
  principal.groups = {std::string(authz::k_service_accounts),
                      std::string(authz::k_service_accounts) + ":" + claims.name_space,
                      std::string(authz::k_authenticated)};
  for (const auto& [name, values] : user.extra) {
    if (name.starts_with("authentication.kubernetes.io/"))
      principal.extra.emplace_back(name, values);
  }
  principal.credential = access::k_token_credential;
  principal.issued = claims.issued;
  return admit(out);
}

} // namespace zoo::tenants
