// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/upstream_request.hpp"

#include "common/base/text.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/query.hpp"

namespace zoo::gateway {
namespace {

constexpr std::string_view k_tenants_group = "zoo:tenants";
constexpr std::string_view k_anywhere_group = "zoo:tenants-anywhere"; // upstream_rbac.cpp

} // namespace

http::RequestHead upstream_request(const Exchange& exchange, Actor actor, std::string method,
                                   std::string path, bool upgrade) {
  http::RequestHead out;
  out.method = std::move(method);
  out.target = std::move(path);
  out.upgrade = upgrade;
  const auto& given = exchange.head().headers;
  const auto& target = exchange.target();
  const bool proxied = target.connect && target.subresource == "proxy";
  translate::RequestHeaders filter(upgrade, proxied, given.all("connection"));
  std::string cookies; // HTTP/2 has them in fields of their own (RFC 9113 section 8.2.3)
  for (const auto& [name, value] : given) {
    const auto passed = filter.passes(name, value);
    if (!passed) continue;
    if (!proxied || !text::iequals(name, "cookie")) {
      out.headers.add(name, *passed);
    } else {
      cookies += (cookies.empty() ? "" : "; ") + std::string(*passed);
    }
  }
  if (!cookies.empty()) out.headers.add("Cookie", cookies);
  if (actor != Actor::zood) {
    const auto& identity = exchange.route().identity();
    const bool anywhere = actor == Actor::tenant_anywhere;
    out.prepared = identity.upstream_fields && !anywhere
                       ? identity.upstream_fields
                       : impersonation(exchange.view().upstream_user, identity, anywhere);
  }
  return out;
}

std::shared_ptr<const http::FieldLines> impersonation(std::string_view upstream_user,
                                                      const Identity& identity, bool anywhere) {
  http::Headers out;
  out.add("Impersonate-User", upstream_user);
  out.add("Impersonate-Group", k_tenants_group);
  if (anywhere) out.add("Impersonate-Group", k_anywhere_group);
  // The tenant's own user and groups, for upstream's audit log; a stranger's bytes are encoded.
  out.add("Impersonate-Extra-Zoo-User", translate::percent_encode(identity.user, ""));
  for (const auto& group : identity.groups)
    out.add("Impersonate-Extra-Zoo-Group", translate::percent_encode(group, ""));
  // Throws rather than that a request went without it; nothing in here can be wrong.
  return std::make_shared<const http::FieldLines>(http::FieldLines::make(out).value());
}

std::string with_query(std::string path, const translate::Params& params) {
  if (params.empty()) return path;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += translate::serialize_query(params);
  return path;
}

} // namespace zoo::gateway
