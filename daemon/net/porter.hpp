// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::net {

/// Stands at a listener's door and passes on connections whose TLS zood does not end, by the server
/// name (SNI) that they send first. Their bytes go to another server unread, in both ways.
/// Called on the listener's loops; must not block.
class Porter {
public:
  struct Decision {
    bool passes = false; ///< else it is refused; one that was let through is cut
    std::string address; ///< IPv4, of the server that it goes to
    std::uint16_t port = 0;
  };
  virtual ~Porter() = default;

  /// Is a connection for that name (lower case) his? Those that are not, or name nobody, are served
  /// by the listener itself.
  virtual bool claims(std::string_view server_name) const = 0;
  /// One that he has claimed. `decide` is called on this loop, later, and never after the result is
  /// gone, which is held as long as the connection is there. Until then it waits, nine seconds at
  /// most: a client of Go's gives a handshake ten. Once it has passed, a refusal cuts it.
  virtual std::shared_ptr<void> admit(Loop& loop, std::string_view server_name,
                                      std::function<void(const Decision&)> decide) = 0;
};

} // namespace zoo::net
