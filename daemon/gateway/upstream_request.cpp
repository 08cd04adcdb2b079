// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/upstream_request.hpp"

#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/query.hpp"

namespace zoo::gateway {
namespace {

constexpr std::string_view k_tenants_group = "zoo:tenants";

} // namespace

http::RequestHead upstream_request(const Exchange& exchange, Actor actor, std::string method,
                                   std::string path, bool upgrade) {
  http::RequestHead out;
  out.method = std::move(method);
  out.target = std::move(path);
  out.upgrade = upgrade;
  translate::HeaderViews given;
  given.reserve(exchange.head().headers.size());
  for (const auto& header : exchange.head().headers) {
    given.emplace_back(header.name, header.value);
  }
  for (auto& [name, value] : translate::request_headers_in(given, upgrade)) {
    out.headers.add(std::move(name), std::move(value));
  }
  if (actor == Actor::tenant) {
    out.headers.add("Impersonate-User", exchange.view().upstream_user);
    out.headers.add("Impersonate-Group", std::string(k_tenants_group));
    // The tenant's own user and groups, for upstream's audit log; a stranger's bytes are encoded.
    const auto& identity = exchange.route().identity;
    out.headers.add("Impersonate-Extra-Zoo-User", translate::percent_encode(identity.user, ""));
    for (const auto& group : identity.groups) {
      out.headers.add("Impersonate-Extra-Zoo-Group", translate::percent_encode(group, ""));
    }
  }
  return out;
}

std::string with_query(std::string path, const translate::Params& params) {
  if (params.empty()) return path;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += translate::serialize_query(params);
  return path;
}

} // namespace zoo::gateway
