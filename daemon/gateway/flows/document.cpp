// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flows/document.hpp"

#include "common/base/gzip.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"

namespace zoo::gateway {
namespace {

constexpr std::size_t k_worth_compressing = 4096; ///< bytes

void answer(Exchange& exchange, const Document& document, bool compressible,
            const std::function<std::string(bool gzipped)>& body) {
  const auto& asked = exchange.head().headers;
  const bool known = client_has(asked.get("if-none-match"), document.etag);
  http::ResponseHead head{known ? 304 : 200, {}};
  head.headers.add("etag", document.etag);
  head.headers.add("vary", "Accept, Accept-Encoding");
  head.headers.add("cache-control", document.cache_control);
  if (known) {
    exchange.send_head(std::move(head));
    return exchange.finish();
  }
  const bool gzipped = compressible && gzip::accepted(asked.get("accept-encoding"));
  const auto text = body(gzipped);
  // Discovery and OpenAPI have as many bytes as a tenant likes, and a client may read none.
  if (!exchange.buffer(text.size())) return exchange.fail(held_too_much());
  head.headers.add("content-type", document.type);
  if (gzipped) head.headers.add("content-encoding", "gzip");
  head.headers.add("content-length", std::to_string(text.size()));
  exchange.send_head(std::move(head));
  exchange.send(text);
  exchange.finish();
}

} // namespace

bool client_has(std::string_view if_none_match, std::string_view etag) {
  for (auto part : text::split(if_none_match, ',')) {
    part = text::trim(part);
    if (part.starts_with("W/")) part.remove_prefix(2); // weak comparison
    if (!part.empty() && (part == etag || part == "*")) return true;
  }
  return false;
}

void send_document(Exchange& exchange, Document document) {
  if (document.etag.empty()) {
    document.etag = '"' + crypto::hex_encode(crypto::view(crypto::sha256(document.body))) + '"';
  }
  answer(exchange, document, document.body.size() >= k_worth_compressing, [&](bool gzipped) {
    return gzipped ? gzip::whole(document.body) : std::move(document.body);
  });
}

void send_document(Exchange& exchange, const Document& document,
                   const std::function<std::string(bool gzipped)>& body) {
  answer(exchange, document, true, body);
}

} // namespace zoo::gateway
