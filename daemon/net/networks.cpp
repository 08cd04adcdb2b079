// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/networks.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace zoo::net {
namespace {

constexpr unsigned k_mapped = 96; // bits before an IPv4 address in IPv6

bool same_beginning(const std::uint8_t* one, const std::uint8_t* other, unsigned bits) {
  const auto whole = bits / 8;
  if (std::memcmp(one, other, whole) != 0) return false;
  const auto rest = bits % 8;
  return rest == 0 || ((one[whole] ^ other[whole]) >> (8 - rest)) == 0;
}

} // namespace

bool Networks::bits_of(const Address& address, Bits& out) {
  out = {};
  if (address.family() == AF_INET6) {
    std::memcpy(out.data(), &reinterpret_cast<const sockaddr_in6*>(address.get())->sin6_addr, 16);
    return true;
  }
  if (address.family() != AF_INET) return false;
  out[10] = out[11] = 0xff;
  std::memcpy(out.data() + 12, &reinterpret_cast<const sockaddr_in*>(address.get())->sin_addr, 4);
  return true;
}

Result<Networks> Networks::parse(std::span<const std::string> texts) {
  Networks out;
  for (const auto& text : texts) {
    const auto slash = text.find('/');
    const auto addresses = numeric_address(text.substr(0, slash), 0);
    Network network;
    bool good = !addresses.empty() && bits_of(addresses.front(), network.address);
    const bool v4 = good && addresses.front().family() == AF_INET;
    const unsigned most = v4 ? 32 : 128;
    unsigned length = most;
    if (good && slash != text.npos) {
      const auto* const begin = text.data() + slash + 1;
      const auto* const end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(begin, end, length);
      good = begin != end && stop == end && error == std::errc() && length <= most;
    }
    network.length = length + (v4 ? k_mapped : 0);
    Bits masked = network.address;
    for (unsigned bit = network.length; good && bit < 128; ++bit)
      masked[bit / 8] &= static_cast<std::uint8_t>(~(0x80u >> bit % 8));
    if (!good || masked != network.address)
      return fail(Code::invalid,
                  "'{}' is not a network: write an IP address, or a CIDR such as 10.0.0.0/8 whose "
                  "bits behind the prefix are zero",
                  text);
    out.networks_.push_back(network);
  }
  return out;
}

Networks Networks::of(std::span<const Address> addresses) {
  Networks out;
  for (const auto& each : addresses) {
    Network network;
    network.length = 128;
    if (bits_of(each, network.address)) out.networks_.push_back(network);
  }
  return out;
}

bool Networks::contain(const Address& address) const {
  Bits bits;
  if (networks_.empty() || !bits_of(address, bits)) return false;
  return std::any_of(networks_.begin(), networks_.end(), [&](const Network& each) {
    return same_beginning(each.address.data(), bits.data(), each.length);
  });
}

} // namespace zoo::net
