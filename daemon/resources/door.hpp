// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/resources/request.hpp"
#include "daemon/resources/workers.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::resources {

/// What a request is about, in RBAC's words, as far as its path and method tell.
struct RequestFacts {
  std::string verb, group, version, resource, subresource, name_space, name;
};
RequestFacts facts_of(const Request& request);

/// A request that is over, for logs. Valid during the call.
struct Finished {
  std::string_view method, target;
  const RequestFacts& facts; ///< empty for a request that could not be understood
  std::string_view who;      ///< "-": nobody was asked for a name
  std::string_view peer;     ///< empty: the client has gone
  int status = 0;            ///< 499: the client went away before the answer
  std::chrono::microseconds took{};
  std::size_t bytes_in = 0; ///< of the body
  const Answer& answer;
};

/// What is particular to one API that zood serves itself: who may ask, and what is answered. The
/// rest of an exchange is the same for all of them (exchange.hpp). Shared by the loops; it outlives
/// their connections and the jobs of the workers.
class Door {
public:
  virtual ~Door() = default;

  /// In log lines and in what is said of it: "admin".
  virtual std::string_view name() const = 0;

  /// Whoever comes by such a connection is refused whatever he asks, before his body is read.
  /// Loop threads; does not block.
  virtual std::optional<Error> stranger(const http::ConnectionInfo& peer) const = 0;

  /// Is this answered on the loop, by at_once(), without asking who it is? Loop threads.
  virtual bool is_at_once(const Request& request) const = 0;
  virtual Answer at_once(const Request& request) = 0;

  /// Does the answer wait for the upstream? Loop threads.
  virtual Workers::Kind kind(const Request& request) const = 0;

  /// Whose slow work this is, so that of each of many users no more is in progress than
  /// Workers::k_slow_of_one; empty: it is not counted. Loop threads; does not block.
  virtual std::string whose(const http::ConnectionInfo& /*peer*/, const Request& /*request*/) {
    return {};
  }

  /// Who asks. Worker threads; may block. Code::unauthorized, Code::forbidden, with what to do.
  virtual Result<Who> identify(const http::ConnectionInfo& peer, const Request& request) = 0;

  /// The answer to a request of `request.who`. Worker threads; may block.
  virtual Answer handle(const Request& request) = 0;

  /// Is it worth a line of the log at its usual level? What comes by the clock is not.
  virtual bool is_news(const Finished& /*finished*/) const { return true; }
  /// Hears of each request that is over, once. Loop threads.
  virtual void over(const Finished& /*finished*/) {}
};

} // namespace zoo::resources
