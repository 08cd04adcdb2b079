// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/call.hpp"
#include "daemon/upstream/pool.hpp"

#include <string>

namespace zoo::upstream {

/// Appends what the Host field of requests to `endpoint` says: without the scheme's own port.
void append_host(std::string& text, const UpstreamEndpoint& endpoint);

/// The head of a request as HTTP/1.1 bytes, empty line included (RFC 9112 section 3). Nothing that
/// could end a line early leaves: Code::bad_request names the part that is wrong. Pure.
Result<std::string> request_text(const http::RequestHead& head, const CallOptions& options,
                                 const UpstreamEndpoint& endpoint);

} // namespace zoo::upstream
