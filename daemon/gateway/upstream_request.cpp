// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/upstream_request.hpp"

#include "common/base/text.hpp"
#include "daemon/access/passage.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/query.hpp"

namespace zoo::gateway {
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
  out.prepared = access::passage_of(exchange.view(), exchange.route().principal(), actor);
  return out;
}

std::string with_query(std::string path, const translate::Params& params) {
  if (params.empty()) return path;
  path += path.find('?') == std::string::npos ? '?' : '&';
  path += translate::serialize_query(params);
  return path;
}

translate::Subprotocols subprotocols_of(const http::RequestHead& head) {
  std::string all;
  for (const auto value : head.headers.all("sec-websocket-protocol"))
    all.append(value).append(",");
  return translate::split_subprotocols(all);
}

} // namespace zoo::gateway
