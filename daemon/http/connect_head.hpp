// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::http {

/// The request by which a client asks a proxy for a connection (RFC 9110 9.3.6, RFC 9112 3.2.3). A
/// value.
struct ConnectHead {
  /// need_more: it may yet become one. whole: where to stands in `host` and `port`. refused: it is
  /// no such request, whatever comes; `status` and `trouble` are what its client is answered.
  enum class State : std::uint8_t { need_more, whole, refused };
  State state = State::need_more;
  std::string host; ///< a name in lower case, or an IP address; IPv6 without its brackets
  std::uint16_t port = 0;
  std::size_t size = 0; ///< bytes of the head; what follows is the client's own
  int status = 0;
  std::string trouble; ///< a sentence without any byte of the client's

  /// "10.0.0.1:443", "[2001:db8::1]:443".
  std::string authority() const;
};

inline constexpr std::size_t k_most_connect_head = 4 * 1024;
inline constexpr std::size_t k_most_connect_fields = 32;

/// `bytes`: from the first one on, as many as have come. Strict: what two readers could understand
/// in two ways is refused, above all a body. Pure.
ConnectHead read_connect_head(std::string_view bytes);

} // namespace zoo::http
