// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/address.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zoo::net {

/// A set of IP networks. A value; immutable once it was parsed.
class Networks {
public:
  /// Each of `texts` is a CIDR ("10.0.0.0/8", "fd00::/8") or one address. Code::invalid names the
  /// first that is neither, or that has bits behind its prefix.
  static Result<Networks> parse(std::span<const std::string> texts);
  /// Each of them alone; those that are no IP addresses are left out.
  static Networks of(std::span<const Address> addresses);
  /// An IPv4 address is the same one where IPv6 maps it (::ffff:10.0.0.1, RFC 4291 section
  /// 2.5.5.2). No Unix socket is in any network.
  bool contain(const Address& address) const;
  bool empty() const { return networks_.empty(); }

private:
  using Bits = std::array<std::uint8_t, 16>; ///< IPv4 is mapped
  struct Network {
    Bits address{};
    unsigned length = 0; ///< bits of it that count
  };
  static bool bits_of(const Address& address, Bits& out);
  std::vector<Network> networks_;
};

} // namespace zoo::net
