// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace zoo::http {

/// What the first bytes of a TLS connection say. RFC 8446 4.1.2, and 5.1 for records; RFC 6066 3
/// for the name.
struct ClientHello {
  /// need_more: it may yet become one. whole: the name is what it says. other: it is no
  /// ClientHello, or one that is longer than k_most; the TLS library is to say what is wrong with
  /// it.
  enum class State { need_more, whole, other };
  State state = State::need_more;
  std::string server_name; ///< of letters, digits, dashes and dots, in lower case; "": none
};

/// Of a ClientHello with its records' heads; the largest that clients send are below 4 KiB.
inline constexpr std::size_t k_most_client_hello = 16 * 1024;

/// `bytes`: from the first one on, as many as have come. Pure; it may come in any pieces and in
/// several records.
ClientHello read_client_hello(std::string_view bytes);

} // namespace zoo::http
