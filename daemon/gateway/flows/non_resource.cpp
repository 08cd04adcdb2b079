// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/gateway/flows/steps.hpp"
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/status_text.hpp"
#include "daemon/upstream/upstream.hpp"

#include <algorithm>

namespace zoo::gateway {
namespace {

constexpr std::string_view k_aggregated_type =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A document made here: discovery. With an ETag of its own bytes, since upstream's changes when
/// any tenant changes a definition and says nothing about this one.
class Document final : public Flow {
public:
  Document(Exchange& exchange, std::string type, std::string body)
      : exchange_(exchange), type_(std::move(type)), body_(std::move(body)) {}

  void start() override {
    const auto etag = '"' + crypto::hex_encode(crypto::view(crypto::sha256(body_))) + '"';
    const bool known = exchange_.head().headers.get("if-none-match") == etag;
    http::ResponseHead head{known ? 304 : 200, {}};
    head.headers.add("etag", etag);
    head.headers.add("vary", "Accept");
    head.headers.add("cache-control", "public");
    if (!known) {
      head.headers.add("content-type", type_);
      head.headers.add("content-length", std::to_string(body_.size()));
    }
    exchange_.send_head(std::move(head));
    if (!known) exchange_.send(body_);
    exchange_.finish();
  }

private:
  Exchange& exchange_;
  std::string type_, body_;
};

/// A document of upstream's, rewritten whole: the OpenAPI index and documents.
class Fetched final : public Steps {
public:
  using Rewrite = std::function<Result<std::string>(std::string&& body)>;
  Fetched(Exchange& exchange, Outgoing request, Rewrite rewrite)
      : Steps(exchange), request_(std::move(request)), rewrite_(std::move(rewrite)) {}

  void start() override {
    ask(
        request_,
        [this](upstream::Answer answer) {
          if (!answer.ok()) return refuse(answer);
          auto body = rewrite_(std::move(answer.body));
          if (!body) return exchange_.fail(body.error());
          http::ResponseHead head{200, {}};
          head.headers.add("content-type", std::string(answer.head.headers.get("content-type")));
          head.headers.add("cache-control", "no-cache, private");
          head.headers.add("content-length", std::to_string(body->size()));
          exchange_.send_head(std::move(head));
          exchange_.send(*body);
          exchange_.finish();
        },
        "application/json");
  }

private:
  Outgoing request_;
  Rewrite rewrite_;
};

Result<std::unique_ptr<Flow>> document(Exchange& exchange, std::string_view type,
                                       std::optional<std::string> body) {
  if (!body) {
    return fail(Code::not_found, "the server could not find the requested resource");
  }
  return std::make_unique<Document>(exchange, std::string(type), *std::move(body));
}

Outgoing get(std::string path) {
  Outgoing request;
  request.actor = Actor::zood;
  request.method = "GET";
  request.path = std::move(path);
  return request;
}

Result<std::unique_ptr<Flow>> openapi(Exchange& exchange, const std::string& path) {
  const auto& mapping = exchange.mapping();
  const auto& catalog = exchange.resource().catalog;
  if (path == "/openapi/v3") {
    return std::make_unique<Fetched>(exchange, get(path), [&mapping, catalog](std::string&& body) {
      return translate::openapi_index_out(mapping, *catalog, body);
    });
  }
  constexpr std::string_view k_prefix = "/openapi/v3/";
  const auto parts = text::split(std::string_view(path).substr(k_prefix.size()), '/');
  const bool meta =
      parts.size() == 1 && (parts[0] == "api" || parts[0] == "apis" || parts[0] == "version");
  const bool core = parts.size() == 2 && parts[0] == "api" && parts[1] == "v1";
  const bool group = (parts.size() == 2 || parts.size() == 3) && parts[0] == "apis";
  if (!meta && !core && !group) {
    return fail(Code::not_found, "the server could not find the requested resource");
  }
  auto same = [](std::string&& body) -> Result<std::string> { return std::move(body); };
  if (meta || core) return std::make_unique<Fetched>(exchange, get(path), same);
  const std::string name(parts[1]);
  if (!catalog->group(mapping, name)) {
    return fail(Code::not_found, "the server could not find the requested resource");
  }
  auto upstream_path = "/openapi/v3/apis/" + mapping.group_in(name);
  if (parts.size() == 3) upstream_path += "/" + std::string(parts[2]);
  if (!mapping.custom_group(name)) {
    return std::make_unique<Fetched>(exchange, get(upstream_path), same);
  }
  return std::make_unique<Fetched>(exchange, get(upstream_path),
                                   [&mapping, name](std::string&& body) {
                                     return translate::openapi_document_out(mapping, name, body);
                                   });
}

} // namespace

Result<std::unique_ptr<Flow>> non_resource(Exchange& exchange) {
  const auto& path = exchange.target().path;
  const auto& mapping = exchange.mapping();
  const auto& catalog = *exchange.resource().catalog;
  if (exchange.target().verb != "get" && exchange.target().verb != "head") {
    return fail(Code::method_not_allowed, "the server does not allow this method on the requested "
                                          "resource");
  }
  constexpr std::string_view k_json = "application/json";

  if (path == "/healthz" || path == "/livez" || path == "/readyz") {
    return document(exchange, "text/plain; charset=utf-8", "ok");
  }
  if (path == "/version") {
    return std::make_unique<Fetched>(
        exchange, get(path),
        [](std::string&& body) -> Result<std::string> { return std::move(body); });
  }
  if (path == "/openapi/v3" || path.starts_with("/openapi/v3/")) return openapi(exchange, path);

  if (path == "/api" || path == "/apis") {
    ZOO_TRY(const auto wanted,
            translate::choose_accept(exchange.head().headers.get("accept"), "", true));
    const bool core = path == "/api";
    if (wanted.representation == translate::Representation::aggregated) {
      return document(exchange, k_aggregated_type, catalog.aggregated(mapping, core));
    }
    return document(exchange, k_json,
                    core ? catalog.api_versions(exchange.head().authority)
                         : catalog.group_list(mapping));
  }
  const auto parts = text::split(std::string_view(path).substr(1), '/');
  if (parts.size() == 2 && parts[0] == "api") {
    return document(exchange, k_json, catalog.resource_list(mapping, "", parts[1]));
  }
  if (parts.size() == 2 && parts[0] == "apis") {
    return document(exchange, k_json, catalog.group(mapping, parts[1]));
  }
  if (parts.size() == 3 && parts[0] == "apis") {
    return document(exchange, k_json, catalog.resource_list(mapping, parts[1], parts[2]));
  }
  return fail(Code::not_found, "the server could not find the requested resource");
}

} // namespace zoo::gateway
