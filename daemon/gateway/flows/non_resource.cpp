// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/gateway/flows/document.hpp"
#include "daemon/gateway/flows/served.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>

namespace zoo::gateway {
namespace {

/// A document made here: discovery. With an ETag of its own bytes, since upstream's changes when
/// any tenant changes a definition and says nothing about this one.
class Made final : public Flow {
public:
  Made(Exchange& exchange, std::string type, std::string body)
      : exchange_(exchange), type_(std::move(type)), body_(std::move(body)) {}

  void start() override {
    send_document(exchange_, Document{std::move(type_), std::move(body_), "", "public"});
  }

private:
  Exchange& exchange_;
  std::string type_, body_;
};

/// A document of upstream's, as it is or with a change: its version, its token issuer.
class Fetched final : public Steps {
public:
  using Change = std::function<Result<std::string>(std::string&&)>;

  Fetched(Exchange& exchange, Outgoing request, Change change = nullptr)
      : Steps(exchange), request_(std::move(request)), change_(std::move(change)) {}

  void start() override {
    ask(
        request_,
        [this](upstream::Answer answer) {
          if (!answer.ok()) return refuse(answer);
          if (change_) {
            auto changed = change_(std::move(answer.body));
            if (!changed) return exchange_.fail(changed.error());
            answer.body = *std::move(changed);
          }
          Document document{std::string(answer.head.headers.get("content-type")),
                            std::move(answer.body), "", "no-cache, private"};
          send_document(exchange_, std::move(document));
        },
        "application/json, */*");
  }

private:
  Outgoing request_;
  Change change_;
};

Result<std::unique_ptr<Flow>> document(Exchange& exchange, std::string_view type,
                                       std::optional<std::string> body) {
  if (!body) {
    return translate::no_resource();
  }
  return std::make_unique<Made>(exchange, std::string(type), *std::move(body));
}

/// Upstream signs the tokens of tenants' ServiceAccounts: its issuer and its public keys, to be had
/// at this door.
Result<std::unique_ptr<Flow>> issuer(Exchange& exchange) {
  const auto keys = "https://" + exchange.head().authority + "/openid/v1/jwks";
  return std::make_unique<Fetched>(exchange,
                                   Outgoing::get(Reason::documents, exchange.target().path),
                                   [keys](std::string&& body) -> Result<std::string> {
                                     ZOO_TRY(const auto tree, translate::JsonTree::parse(body));
                                     const auto uri = tree.root()["jwks_uri"];
                                     if (!uri) return std::move(body);
                                     translate::JsonEdits edits;
                                     edits.quote(uri, keys);
                                     return edits.apply(body);
                                   });
}

} // namespace

Result<std::unique_ptr<Flow>> non_resource(Exchange& exchange) {
  const auto& path = exchange.target().path;
  const auto viewer = exchange.view().viewer();
  const auto& catalog = *exchange.resource().catalog;
  if (exchange.target().verb != "get" && exchange.target().verb != "head") {
    return translate::not_allowed();
  }
  constexpr std::string_view k_json = "application/json";

  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    return document(exchange, "text/plain; charset=utf-8", "ok");
  }
  if (path == "/version") {
    return std::make_unique<Fetched>(exchange, Outgoing::get(Reason::documents, path));
  }
  const bool issues = path == "/.well-known/openid-configuration" || path == "/openid/v1/jwks";
  if (issues && exchange.view().shows_own_keys()) return issuer(exchange);
  if (path.starts_with("/openapi/")) return openapi(exchange);

  if (path == "/api" || path == "/apis") {
    ZOO_TRY(const auto wanted,
            translate::choose_accept(exchange.head().headers.get("accept"), "", true));
    ZOO_TRY_VOID(exchange.answer_as(wanted, false));
    const bool core = path == "/api";
    if (wanted.representation == translate::Representation::aggregated) {
      auto all = catalog.aggregated(viewer, core);
      if (!core) all = with_local_groups(exchange, std::move(all), true);
      return document(exchange, translate::k_aggregated_accept, std::move(all));
    }
    if (core) return document(exchange, k_json, catalog.api_versions(exchange.head().authority));
    return document(exchange, k_json,
                    with_local_groups(exchange, catalog.group_list(viewer), false));
  }
  const auto parts = text::split(std::string_view(path).substr(1), '/');
  if (parts.size() == 2 && parts[0] == "api") {
    return document(exchange, k_json, catalog.resource_list(viewer, "", parts[1]));
  }
  if (auto local = parts[0] == "apis" ? local_document(exchange, path) : std::nullopt)
    return document(exchange, k_json, std::move(local->body));
  if (parts.size() == 2 && parts[0] == "apis") {
    return document(exchange, k_json, catalog.group(viewer, parts[1]));
  }
  if (parts.size() == 3 && parts[0] == "apis") {
    return document(exchange, k_json, catalog.resource_list(viewer, parts[1], parts[2]));
  }
  if (!exchange.view().shows_own_keys()) {
    Outgoing request(Actor::client(), exchange.head().method, path, exchange.target().params);
    return forward(exchange, std::move(request), AnswerShape::verbatim, {});
  }
  return translate::no_resource();
}

} // namespace zoo::gateway
