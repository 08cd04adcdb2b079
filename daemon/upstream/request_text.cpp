// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/request_text.hpp"

#include "common/base/text.hpp"
#include "daemon/http/syntax.hpp"

namespace zoo::upstream {

void append_host(std::string& text, const UpstreamEndpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  if (v6) text += '[';
  text += endpoint.host;
  if (v6) text += ']';
  if (endpoint.port != (endpoint.tls ? 443 : 80))
    text.append(":").append(std::to_string(endpoint.port));
}

namespace {

/// Set below, whatever the request says.
bool is_ours(std::string_view name, bool own_encoding) {
  return http::is_hop_by_hop(name) || text::iequals(name, "content-length") ||
         text::iequals(name, "expect") || (!own_encoding && text::iequals(name, "accept-encoding"));
}

/// What the request says itself of what is set where it does not.
struct Given {
  bool host = false, authorization = false, user_agent = false;

  explicit Given(const http::Headers& headers) {
    for (const auto& field : headers) {
      host = host || text::iequals(field.name, "host");
      user_agent = user_agent || text::iequals(field.name, "user-agent");
      authorization = authorization || text::iequals(field.name, "authorization");
    }
  }
};

} // namespace

Result<std::string> request_text(const http::RequestHead& head, const CallOptions& options,
                                 const UpstreamEndpoint& endpoint) {
  if (!http::is_token(head.method)) return fail(Code::bad_request, "the method is not a token");
  if (!http::is_origin_form(head.target))
    return fail(Code::bad_request, "the path holds characters that cannot be sent");

  constexpr std::size_t k_frame = 256; // what stands between fields, and those that are ours
  const auto& headers = head.headers;
  const auto authorization = endpoint.authorization.load();
  const bool own_encoding = options.encoding == CallOptions::Encoding::own;
  const Given given(headers);
  std::string text;
  text.reserve(head.target.size() + headers.bytes() + 4 * headers.size() + endpoint.host.size() +
               (authorization ? authorization->text().size() : 0) +
               (head.prepared ? head.prepared->text().size() : 0) + k_frame);
  text.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  const auto add = [&text](std::string_view name, std::string_view value) {
    http::append_field_line(text, name, value);
  };
  if (!given.host) {
    text += "Host: ";
    append_host(text, endpoint);
    text += "\r\n";
  }
  if (!given.authorization && authorization) text += authorization->text();
  if (!given.user_agent) add("User-Agent", endpoint.user_agent);
  if (head.prepared) text += head.prepared->text();
  for (const auto& [name, value] : headers) {
    if (is_ours(name, own_encoding)) continue;
    if (!http::is_token(name) || !http::is_field_value(value))
      return fail(Code::bad_request, "a header field holds characters that cannot be sent");
    add(name, value);
  }
  if (options.encoding == CallOptions::Encoding::identity) {
    text += "Accept-Encoding: identity\r\n";
  } else if (options.encoding == CallOptions::Encoding::gzip) {
    text += "Accept-Encoding: gzip\r\n";
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
