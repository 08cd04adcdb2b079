// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::app {

struct Address {
  std::string host; ///< IPv6 without brackets; "" = all interfaces
  std::uint16_t port = 0;
  std::string text() const; ///< host:port, IPv6 in brackets
};

/// "127.0.0.1:7443", "[::1]:7443", ":7443". Code::usage.
Result<Address> parse_address(std::string_view text);
/// "https://host[:port]" of a kubeconfig; a path is refused, since the pool has no place for it.
Result<Address> parse_server_url(std::string_view url);
/// Whether it stands for every address of this machine ("", 0.0.0.0, [::]): one to listen on, none
/// to connect to.
bool unspecified(const Address& address);
/// The same, with loopback where a listener's address names all interfaces.
Address reachable(Address address);

/// The address for clients on other machines: where a listener's address names all interfaces, the
/// host is this machine's name.
Address reachable_from_elsewhere(Address address);

bool group_exists(const char* name);

} // namespace zoo::app
