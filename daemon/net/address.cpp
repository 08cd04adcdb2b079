// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <charconv>
#include <cstring>

namespace zoo::net {

std::string Address::text() const {
  if (family() == AF_UNIX) return "unix";
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(get(), size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "unknown";
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                              : fmt::format("{}:{}", host, port);
}

std::string canonical_ip(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6})
    if (inet_pton(family, host.c_str(), bytes.data()) == 1)
      return inet_ntop(family, bytes.data(), text.data(), text.size());
  return {};
}

bool is_ip_address(const std::string& host) { return !canonical_ip(host).empty(); }

std::vector<Address> numeric_address(const std::string& host, std::uint16_t port) {
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
    return {address};
  }
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    address.size = sizeof(sockaddr_in6);
    return {address};
  }
  return {};
}

std::vector<Address> machine_addresses() {
  std::vector<Address> out;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return out;
  for (const auto* each = first; each != nullptr; each = each->ifa_next) {
    const int family = each->ifa_addr == nullptr ? AF_UNSPEC : each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    Address address;
    address.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address.storage, each->ifa_addr, address.size);
    out.push_back(address);
  }
  ::freeifaddrs(first);
  return out;
}

Result<Address> parse_listen_address(const std::string& text) {
  const auto colon = text.rfind(':');
  std::uint16_t port = 0;
  bool valid = colon != text.npos;
  if (valid) {
    const char* begin = text.data() + colon + 1;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, port);
    valid = begin != end && stop == end && error == std::errc();
  }
  std::string host = valid ? text.substr(0, colon) : "";
  if (host == "localhost") host = "127.0.0.1";
  if (host.empty()) host = "::";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const auto addresses = numeric_address(host, port);
  if (!valid || addresses.empty())
    return fail(Code::invalid,
                "\"{}\" is not an address to listen on: write IP:PORT, [IPv6]:PORT or :PORT", text);
  return addresses.front();
}

} // namespace zoo::net
