// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::net {

/// What a load balancer says first on a connection that it has made for a client (HAProxy's
/// doc/proxy-protocol.txt, versions 1 and 2).
struct ProxyHeader {
  std::size_t size = 0; ///< bytes that it takes
  /// "192.0.2.1:53124", "[2001:db8::1]:53124"; "" where the balancer speaks for itself (LOCAL), or
  /// does not say for whom (UNKNOWN, UNSPEC, another family than IP over TCP).
  std::string client;
};

/// The longest header that is taken, with what a balancer may append to it (TLVs, which are not
/// looked at).
inline constexpr std::size_t k_proxy_header_bytes = 4096;

/// The header that `bytes` begin with; nullopt: it may be one, and is not whole. Code::invalid:
/// they begin with no header of either version, or with a broken one. Pure.
Result<std::optional<ProxyHeader>> read_proxy_header(std::string_view bytes);

} // namespace zoo::net
