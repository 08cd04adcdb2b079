// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/proxy_protocol.hpp"

#include "daemon/net/address.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <vector>

namespace zoo::net {
namespace {

using Header = std::optional<ProxyHeader>;

constexpr std::string_view k_first = "PROXY ";                   // version 1
constexpr std::string_view k_second("\r\n\r\n\0\r\nQUIT\n", 12); // version 2
constexpr std::size_t k_first_most = 107;                        // with its line's end
constexpr std::size_t k_second_head = 16;                        // before the addresses
constexpr std::size_t k_ipv4 = 4, k_ipv6 = 16, k_ports = 4;

bool may_begin_with(std::string_view bytes, std::string_view what) {
  const auto count = std::min(bytes.size(), what.size());
  return bytes.substr(0, count) == what.substr(0, count);
}

unsigned number_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned>(static_cast<std::uint8_t>(bytes[at])) << 8 |
         static_cast<std::uint8_t>(bytes[at + 1]);
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool plain = text.size() == 1 || !text.starts_with('0');
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || !plain)
    return std::nullopt;
  return port;
}

/// An address of this family and a port, as text.
std::string place(const std::string& host, std::uint16_t port, int family) {
  const auto addresses = numeric_address(host, port);
  if (addresses.empty() || addresses.front().family() != family) return {};
  return addresses.front().text();
}

Result<Header> first_version(std::string_view bytes) {
  const auto end = bytes.substr(0, k_first_most).find('\n');
  if (end == bytes.npos) {
    if (bytes.size() >= k_first_most)
      return fail(Code::invalid, "the line of its PROXY header does not end within {} bytes",
                  k_first_most);
    return Header();
  }
  const auto broken = [] {
    return fail(Code::invalid, "its PROXY header of version 1 is not: PROXY TCP4|TCP6 CLIENT "
                               "SERVER CLIENT-PORT SERVER-PORT");
  };
  if (bytes[end - 1] != '\r') return broken();
  ProxyHeader out;
  out.size = end + 1;
  auto line = bytes.substr(k_first.size(), end - 1 - k_first.size());
  if (line == "UNKNOWN" || line.starts_with("UNKNOWN ")) return Header(out);
  std::vector<std::string_view> words;
  for (;;) {
    const auto space = line.find(' ');
    words.push_back(line.substr(0, space));
    if (space == line.npos) break;
    line.remove_prefix(space + 1);
  }
  if (words.size() != 5 || (words[0] != "TCP4" && words[0] != "TCP6")) return broken();
  const int family = words[0] == "TCP4" ? AF_INET : AF_INET6;
  const auto client = port_of(words[3]), server = port_of(words[4]);
  if (!client || !server || place(std::string(words[2]), *server, family).empty()) return broken();
  out.client = place(std::string(words[1]), *client, family);
  if (out.client.empty()) return broken();
  return Header(out);
}

/// The first address of a block of them, and the first port.
std::string client_of(std::string_view addresses, std::size_t length) {
  Address address;
  const auto port = static_cast<std::uint16_t>(number_at(addresses, 2 * length));
  if (length == k_ipv4) {
    auto* const to = reinterpret_cast<sockaddr_in*>(&address.storage);
    to->sin_family = AF_INET;
    to->sin_port = htons(port);
    std::memcpy(&to->sin_addr, addresses.data(), length);
    address.size = sizeof(sockaddr_in);
  } else {
    auto* const to = reinterpret_cast<sockaddr_in6*>(&address.storage);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(port);
    std::memcpy(&to->sin6_addr, addresses.data(), length);
    address.size = sizeof(sockaddr_in6);
  }
  return address.text();
}

Result<Header> second_version(std::string_view bytes) {
  if (bytes.size() < k_second_head) return Header();
  const auto version = static_cast<std::uint8_t>(bytes[12]);
  const auto family = static_cast<std::uint8_t>(bytes[13]);
  const std::size_t length = number_at(bytes, 14);
  constexpr unsigned k_local = 0x20, k_proxy = 0x21, k_tcp4 = 0x11, k_tcp6 = 0x21;
  if (version != k_local && version != k_proxy)
    return fail(Code::invalid, "its PROXY header has version and command {:#04x}", version);
  ProxyHeader out;
  out.size = k_second_head + length;
  if (out.size > k_proxy_header_bytes)
    return fail(Code::invalid, "its PROXY header has {} bytes; at most {} are taken", out.size,
                k_proxy_header_bytes);
  const std::size_t address = family == k_tcp4 ? k_ipv4 : family == k_tcp6 ? k_ipv6 : 0;
  const bool names = version == k_proxy && address != 0;
  if (names && length < 2 * address + k_ports)
    return fail(Code::invalid, "its PROXY header is too short for the addresses that it announces");
  if (bytes.size() < out.size) return Header();
  if (names) out.client = client_of(bytes.substr(k_second_head), address);
  return Header(out);
}

} // namespace

Result<std::optional<ProxyHeader>> read_proxy_header(std::string_view bytes) {
  if (bytes.empty()) return Header();
  if (may_begin_with(bytes, k_first))
    return bytes.size() < k_first.size() ? Result<Header>(Header()) : first_version(bytes);
  if (may_begin_with(bytes, k_second))
    return bytes.size() < k_second.size() ? Result<Header>(Header()) : second_version(bytes);
  return fail(Code::invalid, "it comes from a load balancer (listen_proxy.from) and does not begin "
                             "with a PROXY header: have the balancer send one (send-proxy-v2)");
}

} // namespace zoo::net
