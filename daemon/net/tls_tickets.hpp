// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <chrono>
#include <string_view>

struct ssl_ctx_st;

/// Session tickets of a TLS server (RFC 8446 section 4.6.1, RFC 5077), sealed with a key that all
/// replicas and the next start have. For daemon/net's OpenSSL files alone.
namespace zoo::net {

/// TLS 1.3 clients of `context` get a ticket, from which their next connection goes on without a
/// signature of either side; never early data, and nothing for TLS 1.2, whose tickets would be
/// the keys of what was sent. A ticket made before `bound_to` was another one (the authorities of
/// clients, say) means a whole handshake. `key`: 32 bytes or more. `life`: at most k_session_life.
/// Code::internal if OpenSSL refuses.
Result<void> give_tickets(ssl_ctx_st* context, const Secret& key, std::string_view bound_to,
                          std::chrono::seconds life);

} // namespace zoo::net
