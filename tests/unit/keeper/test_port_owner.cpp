// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/keeper/port_owner.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

using namespace zoo;
using namespace zoo::keeper;

namespace {

/// "0700407F" for 127.64.0.7 on most machines.
std::string hex(const char* address) {
  in_addr out{};
  REQUIRE(::inet_pton(AF_INET, address, &out) == 1);
  return fmt::format("{:08X}", out.s_addr);
}

/// A line of /proc/net/tcp.
std::string row(const std::string& local, const char* state, unsigned user) {
  return fmt::format("   0: {} 00000000:0000 {} 00000000:00000000 00:00000000 00000000 {:5}        "
                     "0 12345 1 0000000000000000 100 0 0 10 0\n",
                     local, state, user);
}

std::optional<PortOwner> owner(const std::string& rows) {
  std::istringstream table(
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n" + rows);
  return port_owner_in(table, "127.64.0.7", 26'443);
}

} // namespace

TEST_CASE("who listens at an address stands in the kernel's table") {
  const auto here = hex("127.64.0.7") + ":674B";
  CHECK_FALSE(owner(""));
  CHECK(owner(row(here, "0A", 1001)) == PortOwner{1001, false});
  CHECK_FALSE(owner(row(here, "01", 1001))); // a connection
  CHECK_FALSE(owner(row(hex("127.64.0.8") + ":674B", "0A", 1001)));
  CHECK_FALSE(owner(row(hex("127.64.0.7") + ":674C", "0A", 1001)));
  CHECK(owner(row("00000000:674B", "0A", 65534)) == PortOwner{65534, true});
  CHECK(owner(row("00000000000000000000000000000000:674B", "0A", 7)) == PortOwner{7, true});
  CHECK(owner(row("0000000000000000FFFF0000" + here, "0A", 7)) == PortOwner{7, false});
  CHECK(owner(row("00000000:674B", "0A", 1) + row(here, "0A", 2)) == PortOwner{2, false});
  CHECK_FALSE(owner("broken\n" + here + "\n"));
}

TEST_CASE("and so it is said of this machine") {
  const file::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)) == 0);
  socklen_t size = sizeof(at);
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size) == 0);
  const auto port = ntohs(at.sin_port);
  CHECK(taken_port("127.0.0.1", {port}).empty()); // bound is not listening
  REQUIRE(::listen(socket.get(), 1) == 0);
  CHECK(port_owner("127.0.0.1", port) == PortOwner{::geteuid(), false});
  CHECK(taken_port("127.0.0.1", {port}) ==
        fmt::format("127.0.0.1:{} is taken by a socket of the user with ID {}", port, ::geteuid()));
  CHECK_FALSE(port_owner("no address", port));
  CHECK(user_of(::getpid()) == ::geteuid());
  CHECK_FALSE(user_of(0));
}
