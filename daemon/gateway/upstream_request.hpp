// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/access.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/headers.hpp"
#include "daemon/translate/query.hpp"

#include <string>

namespace zoo::gateway {

class Exchange;

/// The head of a request upstream on behalf of `exchange`: the headers of its client that may pass,
/// and the impersonation that `actor` asks for. `path` is in upstream's names, with its query.
http::RequestHead upstream_request(const Exchange& exchange, Actor actor, std::string method,
                                   std::string path, bool upgrade = false);

/// What all Sec-WebSocket-Protocol fields of `head` say together (RFC 6455 11.3.4).
translate::Subprotocols subprotocols_of(const http::RequestHead& head);

/// `path` with "?a=b&c=d", percent-encoded.
std::string with_query(std::string path, const translate::Params& params);

} // namespace zoo::gateway
