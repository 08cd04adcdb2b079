// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/request_text.hpp"

#include "common/base/text.hpp"
#include "daemon/http/syntax.hpp"

namespace zoo::upstream {
namespace {

void append_host(std::string& text, const UpstreamEndpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  if (v6) text += '[';
  text += endpoint.host;
  if (v6) text += ']';
  if (endpoint.port != (endpoint.tls ? 443 : 80))
    text.append(":").append(std::to_string(endpoint.port));
}

/// Set below, whatever the request says.
bool is_ours(std::string_view name, bool accept_gzip) {
  return http::is_hop_by_hop(name) || text::iequals(name, "content-length") ||
         text::iequals(name, "expect") || (!accept_gzip && text::iequals(name, "accept-encoding"));
}

} // namespace

Result<std::string> request_text(const http::RequestHead& head, const CallOptions& options,
                                 const UpstreamEndpoint& endpoint) {
  if (!http::is_token(head.method)) return fail(Code::bad_request, "the method is not a token");
  if (!http::is_origin_form(head.target))
    return fail(Code::bad_request, "the path holds characters that cannot be sent");

  std::string text;
  text.reserve(2 * 1024); // most of it the bearer token
  text.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  const auto add = [&text](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  const auto& headers = head.headers;
  if (!headers.has("host")) {
    text += "Host: ";
    append_host(text, endpoint);
    text += "\r\n";
  }
  if (!headers.has("authorization")) {
    if (const auto authorization = endpoint.authorization.load();
        authorization && !authorization->empty()) {
      if (!http::is_field_value(*authorization))
        return fail(Code::internal, "the upstream credential holds control characters");
      add("Authorization", *authorization);
    }
  }
  if (!headers.has("user-agent")) add("User-Agent", endpoint.user_agent);
  for (const auto& [name, value] : headers) {
    if (is_ours(name, options.accept_gzip)) continue;
    if (!http::is_token(name) || !http::is_field_value(value))
      return fail(Code::bad_request, "a header field holds characters that cannot be sent");
    add(name, value);
  }
  if (!options.accept_gzip) {
    add("Accept-Encoding", "identity");
  } else if (!headers.has("accept-encoding")) {
    add("Accept-Encoding", "gzip");
  }
  if (!options.body.empty() || head.method == "POST" || head.method == "PUT" ||
      head.method == "PATCH")
    add("Content-Length", std::to_string(options.body.size()));
  if (options.upgrade) {
    const auto protocol = headers.get("upgrade");
    if (protocol.empty() || !http::is_field_value(protocol))
      return fail(Code::bad_request, "an upgrade without a protocol");
    add("Connection", "Upgrade");
    add("Upgrade", protocol);
  }
  text += "\r\n";
  return text;
}

} // namespace zoo::upstream
