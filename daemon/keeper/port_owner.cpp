// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/port_owner.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <fstream>
#include <sstream>

namespace zoo::keeper {
namespace {

constexpr std::string_view k_listens = "0A"; // TCP_LISTEN of include/net/tcp_states.h
constexpr std::string_view k_mapped = "0000000000000000FFFF0000";

/// As the kernel writes it: four bytes as one number of this machine's order.
std::string hex_of(const in_addr& address) { return fmt::format("{:08X}", address.s_addr); }

} // namespace

std::optional<PortOwner> port_owner_in(std::istream& table, const std::string& address,
                                       std::uint16_t port) {
  in_addr wanted{};
  if (::inet_pton(AF_INET, address.c_str(), &wanted) != 1) return std::nullopt;
  const auto behind = fmt::format(":{:04X}", port);
  const auto four = hex_of(wanted);
  const auto here = four + behind, mapped = std::string(k_mapped) + four + behind;
  const auto all = std::string(8, '0') + behind, all_of_six = std::string(32, '0') + behind;
  std::optional<PortOwner> out;
  std::string line;
  std::getline(table, line); // the names of the columns
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retries;
    uid_t user = 0;
    if (!(words >> number >> local >> remote >> state) || state != k_listens) continue;
    const bool exact = local == here || local == mapped;
    if (!exact && local != all && local != all_of_six) continue;
    if (!(words >> queues >> timer >> retries >> user)) continue;
    out = PortOwner{user, !exact};
    if (exact) return out;
  }
  return out;
}

std::optional<PortOwner> port_owner(const std::string& address, std::uint16_t port) {
  std::optional<PortOwner> out;
  // Below the process, where a service manager's ProcSubset=pid leaves them.
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream table(path);
    const auto found = port_owner_in(table, address, port);
    if (found && (!out || !found->everywhere)) out = found;
  }
  return out;
}

std::optional<uid_t> user_of(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string word; status >> word;) {
    uid_t real = 0, effective = 0;
    if (word == "Uid:")
      return status >> real >> effective ? std::optional(effective) : std::nullopt;
  }
  return std::nullopt;
}

std::string taken_port(const std::string& address, const std::vector<std::uint16_t>& ports) {
  for (const auto port : ports)
    if (const auto owner = port_owner(address, port))
      return fmt::format("{}:{} is taken by a socket of the user with ID {}{}", address, port,
                         owner->user, owner->everywhere ? ", which listens at all addresses" : "");
  return {};
}

} // namespace zoo::keeper
