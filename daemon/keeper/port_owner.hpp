// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

/// Whose socket listens at an address of this machine: every user may listen at any address of
/// loopback, and at all of them at once.
namespace zoo::keeper {

struct PortOwner {
  uid_t user = 0;
  bool everywhere = false; ///< it listens at all addresses, not at this one alone
  bool operator==(const PortOwner&) const = default;
};

/// Of a text such as /proc/net/tcp or /proc/net/tcp6 (proc_net_tcp(5)): who listens at that IPv4
/// address and port; nothing: nobody. Pure.
std::optional<PortOwner> port_owner_in(std::istream& table, const std::string& address,
                                       std::uint16_t port);

/// The same of this machine, now; nothing, too, where the kernel does not say. Some milliseconds
/// for many thousand connections.
std::optional<PortOwner> port_owner(const std::string& address, std::uint16_t port);

/// As whom a process runs (proc_pid_status(5)); nothing: there is none.
std::optional<uid_t> user_of(pid_t process);

/// Of the first of these ports at which somebody listens, in words: "127.64.0.1:26443 is taken by a
/// socket of the user with ID 1001, which listens at all addresses"; "": nobody does.
std::string taken_port(const std::string& address, const std::vector<std::uint16_t>& ports);

} // namespace zoo::keeper
