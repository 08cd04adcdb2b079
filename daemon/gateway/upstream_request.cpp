// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/upstream_request.hpp"

#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/headers.hpp"

namespace zoo::gateway {
namespace {

constexpr std::string_view k_tenants_group = "zoo:tenants";

std::string percent_encode(std::string_view input) {
  static constexpr char k_hex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(input.size());
  for (const char c : input) {
    const auto byte = static_cast<unsigned char>(c);
    const bool unreserved = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                            (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
                            byte == '_' || byte == '~';
    if (unreserved) {
      out += c;
    } else {
      out += '%';
      out += k_hex[byte >> 4];
      out += k_hex[byte & 15];
    }
  }
  return out;
}

} // namespace

http::RequestHead upstream_request(const Exchange& exchange, Actor actor, std::string method,
                                   std::string path) {
  http::RequestHead out;
  out.method = std::move(method);
  out.target = std::move(path);
  for (const auto& header : exchange.head().headers) {
    if (translate::passes_upstream(header.name)) out.headers.add(header.name, header.value);
  }
  if (actor == Actor::tenant) {
    out.headers.add("Impersonate-User", exchange.view().upstream_user);
    out.headers.add("Impersonate-Group", std::string(k_tenants_group));
    // The tenant's own user and groups, for upstream's audit log; a stranger's bytes are encoded.
    const auto& identity = exchange.route().identity;
    out.headers.add("Impersonate-Extra-Zoo-User", percent_encode(identity.user));
    for (const auto& group : identity.groups) {
      out.headers.add("Impersonate-Extra-Zoo-Group", percent_encode(group));
    }
  }
  return out;
}

std::string with_query(std::string path,
                       const std::vector<std::pair<std::string, std::string>>& query) {
  char separator = path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : query) {
    path += separator;
    path += percent_encode(name);
    path += '=';
    path += percent_encode(value);
    separator = '&';
  }
  return path;
}

} // namespace zoo::gateway
