// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/connect_head.hpp"
#include "daemon/net/address.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/net/tls.hpp"

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace zoo::net {

/// Judges where the connections of a proxy's door may go, which begin with CONNECT. Called on the
/// listener's loop; must not block.
class Gate {
public:
  struct Refusal {
    int status = 403;
    std::string why; ///< a sentence; it stands in the status line, too, where Go's clients look
  };
  /// It is served here, as a connection of the listener's: TLS follows, and HTTP in that.
  struct Inward {
    std::shared_ptr<TlsServerContext> tls;
  };
  /// To the first of these that can be reached, and to no other: nothing is looked up any more.
  struct Outward {
    std::vector<Address> to;
  };
  using Decision = std::variant<Refusal, Inward, Outward>;

  virtual ~Gate() = default;
  /// `decide` is called once on this loop, later, and never after the result is gone, which is held
  /// as long as the connection waits or its bytes are handed on.
  virtual std::shared_ptr<void> ask(Loop& loop, const http::ConnectHead& head,
                                    std::function<void(Decision)> decide) = 0;
};

} // namespace zoo::net
