// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/access/route.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::http {
struct ConnectionInfo;
}

namespace zoo::access {

/// Authentication at one door: turns what a client shows into a Route. There is one for each sort
/// of client; the composition root gives it to the Gateway of a loop. Belongs to that loop and is
/// called on it alone.
class ViewSource {
public:
  virtual ~ViewSource() = default;

  /// At a door whose connections are authenticated before they come to it: whose this one is. None:
  /// it is no such door.
  virtual std::optional<Result<Route>> by_connection(const http::ConnectionInfo& /*connection*/) {
    return std::nullopt;
  }
  /// By the client certificate of a connection that shows one. Code::unauthorized, with the reason.
  virtual Result<Route> by_certificate(const http::ConnectionInfo& connection) = 0;
  /// By a bearer token that came over this connection. `done` is called on the loop, possibly
  /// inside the call. Code::unauthorized; Code::unavailable if upstream, which verifies it, does
  /// not answer; Code::too_many_requests if too many are being verified.
  virtual void by_token(const http::ConnectionInfo& connection, const std::string& token,
                        std::function<void(Result<Route>)> done) = 0;
  /// Is what `route` was given for still good, its dates aside? Asked again for requests in
  /// progress after something was withdrawn.
  virtual bool still(const Route& route) = 0;
  /// Who the verified certificate of a connection was made for, let in or not: for the audit log.
  /// Null if nobody can be read from it.
  virtual std::shared_ptr<const Principal> claimed(const http::ConnectionInfo& connection) = 0;
  /// For the audit log: "tenants", "accounts".
  virtual std::string_view door() const = 0;
};

} // namespace zoo::access
