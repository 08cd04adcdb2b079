// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/token_authn.hpp"

#include "common/base/json_text.hpp"
#include "common/base/make_room.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>
#include <utility>

namespace zoo::tenants {
namespace {

using Clock = std::chrono::steady_clock;
using translate::JsonTree;

constexpr std::size_t k_max_answer = 256 * 1024;

} // namespace

struct TokenAuthenticator::Question {
  TokenClaims claims;
  bool unknown; ///< what signed it
  std::vector<Done> waiting;
  std::unique_ptr<upstream::BufferedCall> call;
};

TokenAuthenticator::TokenAuthenticator(net::Loop& loop, upstream::Upstream& upstream,
                                       const TenantDirectory& directory)
    : loop_(loop), upstream_(upstream), directory_(directory), keys_(loop, upstream),
      alive_(std::make_shared<int>(0)) {}

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
  if (const auto known = answers_.find(key); known != answers_.end()) {
    if (Clock::now() < known->second.until) {
      if (!known->second.user) return done(fail(known->second.user.error()));
      return done(admit(*known->second.user));
    }
    answers_.erase(known);
  }
  const auto signature = keys_.check(token);
  if (signature == Signature::forged) return done(refused_token());
  const bool unknown = signature == Signature::unknown && keys_.any();
  ask(key, token, *std::move(claims), unknown, std::move(done));
}

void TokenAuthenticator::ask(const std::string& key, const std::string& token, TokenClaims claims,
                             bool unknown, Done done) {
  if (const auto found = asked_.find(key); found != asked_.end()) {
    found->second->waiting.push_back(std::move(done));
    return;
  }
  // Both sorts have places of their own.
  std::size_t all = 0, of_tenant = 0;
  for (const auto& [_, question] : asked_) {
    if (question->unknown != unknown) continue;
    ++all;
    if (question->claims.tenant == claims.tenant) ++of_tenant;
  }
  const bool full = all >= (unknown ? k_max_unknown : k_max_asked) ||
                    of_tenant >= (unknown ? k_max_unknown_of_tenant : k_max_of_tenant);
  if (full) {
    return done(fail(Code::too_many_requests, "too many tokens are being verified; try again"));
  }
  auto question = std::make_unique<Question>();
  question->claims = std::move(claims);
  question->unknown = unknown;
  question->waiting.push_back(std::move(done));
  http::RequestHead head;
  head.method = "POST";
  head.target = "/apis/authentication.k8s.io/v1/tokenreviews";
  head.headers.add("Accept", "application/json");
  head.headers.add("Content-Type", "application/json");
  upstream::CallOptions options;
  options.body =
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":)" +
      json_quote(token) + R"(,"audiences":[")" + std::string(access::k_audience) + R"("]}})";
  question->call = std::make_unique<upstream::BufferedCall>(
      upstream_.caller(loop_), std::move(head), std::move(options), k_max_answer,
      [this, key](const Result<upstream::Answer>& answer) { answered(key, answer); });
  asked_.emplace(key, std::move(question));
}

void TokenAuthenticator::answered(const std::string& key, const Result<upstream::Answer>& answer) {
  const auto found = asked_.find(key);
  if (found == asked_.end()) return;
  const auto question = std::move(found->second);
  asked_.erase(found);
  Answer out;
  if (!answer) {
    out.user = fail(Code::unavailable, "the bearer token cannot be verified: {}",
                    answer.error().message());
  } else if (answer->head.status != 201 && answer->head.status != 200) {
    out.user = fail(Code::unavailable, "the bearer token cannot be verified: upstream answered {}",
                    answer->head.status);
  } else {
    out.user = read(question->claims, *answer);
    const auto left = std::chrono::seconds(question->claims.expires - kube::unix_now());
    out.until = Clock::now() + (out.user ? std::min(k_remembered, left) : k_refusal_remembered);
    // Anybody can make what nobody has signed: it takes no room from those that are good.
    if (out.user || !question->unknown) {
      if (!answers_.contains(key)) make_room(answers_, key, k_max_remembered);
      answers_.insert_or_assign(key, out);
    }
  }
  const std::weak_ptr<void> alive = alive_;
  for (auto& done : question->waiting) {
    done(out.user);
    if (alive.expired()) return;
  }
}

Result<TokenUser> TokenAuthenticator::read(const TokenClaims& claims,
                                           const upstream::Answer& answer) const {
  const auto tree = JsonTree::parse(answer.body);
  if (!tree) return refused_token();
  const auto status = tree->root()["status"];
  const auto user = status["user"];
  // An upstream that does not speak of audiences has not checked them.
  if (!status["authenticated"].boolean() || !names_audience(status["audiences"]) ||
      user["username"].string() != claims.upstream_user) {
    return refused_token();
  }
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
  principal.uid = user["uid"].string();
  principal.groups = {std::string(authz::k_service_accounts),
                      std::string(authz::k_service_accounts) + ":" + claims.name_space,
                      std::string(authz::k_authenticated)};
  for (auto each = user["extra"].first(); each; each = each.next()) {
    if (each.key().starts_with("authentication.kubernetes.io/"))
      principal.extra.emplace_back(each.key(), each.strings());
  }
  principal.credential = access::k_token_credential;
  principal.issued = claims.issued;
  return admit(out);
}

} // namespace zoo::tenants
