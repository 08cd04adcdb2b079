// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/codec.hpp"
#include "daemon/net/gate.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/net/networks.hpp"
#include "daemon/net/porter.hpp"
#include "daemon/net/tls.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace zoo::net {

using Loops = std::vector<Loop*>;

/// Makes the Service of one loop; called once for each loop, before the first connection.
using ServiceFactory = std::function<std::unique_ptr<http::Service>(Loop& loop)>;

struct ListenerLimits {
  http::Limits http;
  /// The one that has been without a stream longest makes room for the next; while all have one,
  /// more are accepted and closed.
  std::size_t connections = 10'000;
  std::chrono::milliseconds handshake{10'000};
  std::chrono::milliseconds head{30'000};   ///< for one request's head, whole (slow loris)
  std::chrono::milliseconds body{60'000};   ///< for the next bytes of a request's body
  std::chrono::milliseconds tunnel{10'000}; ///< for the client of one that is over to close, too
  std::chrono::milliseconds idle{300'000};  ///< connection without an open stream
  std::chrono::milliseconds write{300'000}; ///< for the client to take anything of what waits
  /// A client that goes on asking although it is told to wait (429, which says a second) is read no
  /// more for a while, the double each time up to the most: its refusals cost what it may not have.
  std::uint32_t refusals = 4; ///< that are given in a row, less than `refused_least` apart
  std::chrono::milliseconds refused_least{100};
  std::chrono::milliseconds refused_most{1'000};
  /// Load balancers, whose connections begin with a PROXY protocol header that names the client
  /// (daemon/net/proxy_protocol.hpp). Those of others must not, and are never read for one.
  Networks balancers;
  std::chrono::milliseconds proxy_header{5'000}; ///< for that header to be whole
  bool is_balancer(int socket) const;            ///< is its peer one of those?
};

/// How a Listener ends.
struct DrainTimes {
  /// Over which the connections are asked to leave (StreamHandler::on_leaving()), each at a moment
  /// of its own: watches that end all at once would all begin again at once, elsewhere.
  std::chrono::milliseconds spread{0};
  std::chrono::milliseconds deadline{30'000}; ///< from the beginning; what is left is cut then
};

/// Accepts connections and serves them. One socket, accepted on the first loop; each connection
/// goes to the loop that has the fewest and stays there (why: docs/decisions/004-sockets.md).
/// All functions may be called from any thread. Destroy it before its loops; its connections are
/// cut then, if drain() has not ended them.
class Listener {
public:
  /// `address`: "127.0.0.1:0", "[::1]:7443", ":7443" (all), "localhost:7443". `tls` null: plain.
  /// Code::io in one sentence if the address is taken or not ours.
  static Result<std::unique_ptr<Listener>> tcp(Loops loops, const std::string& address,
                                               std::shared_ptr<TlsServerContext> tls,
                                               ListenerLimits limits, const ServiceFactory& make);
  /// A socket file with `mode` from its first moment, and `group` (empty: as is). One that is left
  /// from before is replaced only if nobody answers on it. Removed on destruction.
  static Result<std::unique_ptr<Listener>> unix(Loops loops, const std::filesystem::path& path,
                                                unsigned mode, const std::string& group,
                                                ListenerLimits limits, const ServiceFactory& make);
  /// A door to what `porter` sends connections for `name` to, whatever they say first.
  static Result<std::unique_ptr<Listener>> passage(Loops loops, const std::string& address,
                                                   ListenerLimits limits,
                                                   std::shared_ptr<Porter> porter,
                                                   const std::string& name);
  /// A proxy's door: a socket file as unix() makes it, whose connections begin with CONNECT, of
  /// which `gate` says where they may go. Those that are served here are served by `make`'s, over
  /// the TLS that the gate has given.
  static Result<std::unique_ptr<Listener>> proxy(Loops loops, const std::filesystem::path& path,
                                                 ListenerLimits limits, std::shared_ptr<Gate> gate,
                                                 const ServiceFactory& make);
  ~Listener();

  /// Connections that come from now on are looked at by him first; null: they are not, and cost
  /// nothing more. Any thread but a loop's; waits for the loops.
  void set_porter(std::shared_ptr<Porter> porter);
  /// Bytes that were handed through, to and from clients.
  struct Passed {
    std::uint64_t inward = 0, outward = 0;
    Passed& operator+=(const Passed& more) {
      inward += more.inward;
      outward += more.outward;
      return *this;
    }
  };
  Passed passed() const;

  std::string address() const; ///< with the real port; a Unix socket's path
  std::size_t connections() const;
  /// TLS handshakes so far; `failed`: those of clients that went away meanwhile, too.
  struct Handshakes {
    std::uint64_t full = 0, resumed = 0, failed = 0;
  };
  Handshakes handshakes() const;
  void stop_accepting(); ///< closes the listening socket
  /// Takes what waits to be accepted, then stop_accepting(); tells every client at once that no
  /// more requests are wanted, and every connection to leave within `times.spread`. `done` is
  /// called once, on the first loop, when all are gone. What is left at the deadline is cut, and
  /// the log says how much that was.
  void drain(DrainTimes times, std::function<void()> done);
  void set_limits(const ListenerLimits& limits); ///< for connections from now on

private:
  struct Impl;
  static std::unique_ptr<Listener> open(std::shared_ptr<Impl> impl, const ListenerLimits& limits,
                                        const ServiceFactory& make,
                                        const std::shared_ptr<Porter>& porter = {},
                                        const std::string& only_for = {},
                                        const std::shared_ptr<Gate>& gate = {});
  explicit Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

} // namespace zoo::net
