// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/aggregated_door.hpp"

#include "common/base/text.hpp"
#include "common/kube/age.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/resources/api.hpp"
#include "daemon/translate/selector.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace zoo::accounts {
namespace {

using resources::Answer;
using resources::Request;
using resources::Who;

constexpr std::string_view k_name = "zood's aggregated API"; ///< in what is said of it

/// As whom kube-apiserver asks on its own behalf.
constexpr std::string_view k_aggregators[] = {"system:kube-aggregator", "system:aggregator"};

bool is_health(const Request& request) {
  if (request.segments.size() != 1 || !resources::reads(request)) return false;
  const auto& word = request.segments.front();
  return word == "healthz" || word == "livez" || word == "readyz";
}

/// /apis/tenancy.kiosk.sh/v1alpha1/..., which is about objects and not about what is served.
bool names_resource(const Request& request) {
  return request.segments.size() > 3 && request.segments.front() == "apis";
}

/// The name that a fieldSelector asks for, if it asks for one.
std::string selected_name(std::string_view selector) {
  const auto terms = translate::parse_field_selector(selector);
  if (!terms) return {};
  for (const auto& term : *terms) {
    if (term.key == "metadata.name" && term.equal) return term.value;
  }
  return {};
}

Answer forbidden(const Who& who, const authz::Attributes& wanted, const std::string& reason) {
  const auto resource =
      wanted.subresource.empty() ? wanted.resource : wanted.resource + "/" + wanted.subresource;
  const auto name = wanted.name.empty() ? std::string() : fmt::format(" \"{}\"", wanted.name);
  const auto scope = wanted.name_space.empty()
                         ? std::string("at the cluster scope")
                         : fmt::format("in the namespace \"{}\"", wanted.name_space);
  const auto message = fmt::format(
      "{}.{}{} is forbidden: User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}{}{}",
      wanted.resource, wanted.group, name, who.name, wanted.verb, resource, wanted.group, scope,
      reason.empty() ? "" : ": ", reason);
  return resources::failure(Error(Code::forbidden, message),
                            {wanted.name, wanted.group, wanted.resource, {}, {}, 0});
}

class AggregatedDoor final : public resources::Door {
public:
  explicit AggregatedDoor(AggregatedDoorParts parts)
      : parts_(std::move(parts)),
        api_({.kinds = parts_.kinds,
              .name = std::string(k_name),
              .title = "zood accounts",
              .later = parts_.later,
              .now = parts_.now ? parts_.now : std::function<std::int64_t()>(kube::unix_now)}) {}

  std::string_view name() const override { return "aggregated"; }
  std::optional<Error> stranger(const http::ConnectionInfo& peer) const override {
    auto believed = believe_front_proxy(*parts_.terms(), peer, std::chrono::system_clock::now());
    return believed ? std::nullopt : std::optional(std::move(believed).error());
  }
  bool is_at_once(const Request& request) const override { return is_health(request); }
  Answer at_once(const Request& request) override;
  resources::Workers::Kind kind(const Request& request) const override {
    return resources::reads(request) ? resources::Workers::Kind::quick
                                     : resources::Workers::Kind::slow;
  }
  /// The same share for each user as at the account door, though all of them come by one
  /// connection.
  std::string whose(const http::ConnectionInfo& peer, const Request& request) override {
    const auto who = identify(peer, request);
    return who ? who->name : std::string();
  }
  Result<Who> identify(const http::ConnectionInfo& peer, const Request& request) override;
  Answer handle(const Request& request) override;
  /// kube-apiserver looks several times a minute whether the door is there.
  bool is_news(const resources::Finished& finished) const override {
    return finished.status >= 400 || std::find(std::begin(k_aggregators), std::end(k_aggregators),
                                               finished.who) == std::end(k_aggregators);
  }
  void over(const resources::Finished& finished) override {
    if (parts_.over) parts_.over(finished);
  }

private:
  /// What speaks against the request; nothing: its caller has the right.
  std::optional<Answer> refuse(const Request& request) const;

  const AggregatedDoorParts parts_;
  resources::Api api_;
};

Answer AggregatedDoor::at_once(const Request& request) {
  Answer answer;
  answer.content_type = "text/plain; charset=utf-8";
  answer.body = "ok";
  if (request.segments.front() != "readyz") return answer;
  const auto missing = parts_.not_ready();
  if (missing.empty()) return answer;
  answer.status = 503;
  answer.headers.add("Retry-After", "1");
  answer.body = "not ready: " + missing + "\n";
  return answer;
}

Result<Who> AggregatedDoor::identify(const http::ConnectionInfo& peer, const Request& request) {
  const auto terms = parts_.terms();
  // Once more: the terms may have changed since the request began.
  ZOO_TRY_VOID(believe_front_proxy(*terms, peer, std::chrono::system_clock::now()));
  ZOO_TRY(auto who, front_proxy_user(*terms, request.headers));
  if (const auto account = authz::service_account(who.name);
      account && parts_.of_tenant(account.name_space))
    return fail(Code::unauthorized, "ServiceAccounts of a tenant are nobody here");
  return who;
}

std::optional<Answer> AggregatedDoor::refuse(const Request& request) const {
  const auto rights = parts_.rights();
  if (!rights) return resources::failure(rights.error());
  const auto& who = request.who;
  const auto wanted = attributes_of(request);
  const auto decision = (*rights)->decide({who.name, who.uid, who.groups, who.extra}, wanted);
  if (decision.allowed) return std::nullopt;
  return forbidden(who, wanted, decision.reason);
}

Answer AggregatedDoor::handle(const Request& request) {
  const auto& path = request.segments;
  const bool served = !path.empty() && (path[0] == "apis" || path[0] == "openapi");
  if (served && (path.size() < 2 || path[0] == "openapi" || api_.has_group(path[1]))) {
    if (names_resource(request)) {
      if (auto refusal = refuse(request)) return *std::move(refusal);
    }
    if (auto answer = api_.handle(request)) return *std::move(answer);
  }
  return resources::nothing_here(k_name, "path", request.path(), {});
}

} // namespace

authz::Attributes attributes_of(const Request& request) {
  authz::Attributes out;
  const auto& path = request.segments;
  if (path.size() < 4 || path[0] != "apis") {
    out.resource_request = false;
    out.path = request.path();
    out.verb = text::lower(request.method);
    return out;
  }
  out.group = path[1];
  out.version = path[2];
  std::size_t at = 3;
  if (path[3] == "namespaces" && path.size() > 5) {
    out.name_space = path[4];
    at = 5;
  }
  out.resource = path[at];
  if (path.size() > at + 1) out.name = path[at + 1];
  if (path.size() > at + 2) out.subresource = path[at + 2];
  const auto& method = request.method;
  const bool named = !out.name.empty();
  if (method == "GET" || method == "HEAD") {
    out.verb = named ? "get" : request.flag("watch").value_or(false) ? "watch" : "list";
  } else if (method == "DELETE") {
    out.verb = named ? "delete" : "deletecollection";
  } else {
    out.verb = method == "POST"    ? "create"
               : method == "PUT"   ? "update"
               : method == "PATCH" ? "patch"
                                   : text::lower(method);
  }
  if (out.verb == "list" || out.verb == "watch" || out.verb == "deletecollection")
    out.name = selected_name(request.parameter("fieldSelector"));
  return out;
}

std::shared_ptr<resources::Door> make_aggregated_door(AggregatedDoorParts parts) {
  return std::make_shared<AggregatedDoor>(std::move(parts));
}

} // namespace zoo::accounts
