// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/exchange.hpp"

#include <functional>
#include <string>
#include <string_view>

/// Documents that are the same for a while: discovery and OpenAPI. ETag, If-None-Match and gzip
/// (RFC 9110 8.8.3, 13.1.2, 8.4.1) in one place. Loop thread, inside a flow.
namespace zoo::gateway {

struct Document {
  std::string type; ///< Content-Type
  std::string body; ///< what send_document() sends
  std::string etag; ///< with its quotes; "" = the digest of the body
  std::string cache_control = "public";
};

/// Answers 304 if the client has it, else 200 with the body, compressed if the client can and it
/// is worth it. Ends the exchange.
void send_document(Exchange& exchange, Document document);

/// The same where the body is made only when it is needed, already compressed if `gzipped`. The
/// document must have an ETag.
void send_document(Exchange& exchange, const Document& document,
                   const std::function<std::string(bool gzipped)>& body);

/// Is this ETag among those of If-None-Match?
bool client_has(std::string_view if_none_match, std::string_view etag);

} // namespace zoo::gateway
