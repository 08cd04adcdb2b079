// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace zoo::net {

/// A socket's address. A value.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::string text() const; ///< "127.0.0.1:80", "[::1]:80", "unix"
};

/// "host:port" for a listener: an IP address, "localhost", or nothing for all addresses.
/// Code::invalid with the form expected.
Result<Address> parse_listen_address(const std::string& text);

/// Is it an IP address, in the form that inet_pton(3) reads, rather than a name?
bool is_ip_address(const std::string& host);

/// The one text of an IP address that has several, as "2001:db8::1"; "" if `host` is a name.
std::string canonical_ip(const std::string& host);

/// An IP address as it stands; empty if `host` is a name. Never asks a name server.
std::vector<Address> numeric_address(const std::string& host, std::uint16_t port);

/// Those of this machine's interfaces, as the kernel has them now.
std::vector<Address> machine_addresses();

} // namespace zoo::net
