// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"
#include "common/base/secret.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/call.hpp"
#include "daemon/upstream/tally.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace zoo::upstream {

/// Where the upstream is and how zood shows itself to it. Shared by the pools of all loops and
/// never changed, except `authorization`, which its owner replaces when the token is renewed.
struct UpstreamEndpoint {
  std::string host; ///< name or address, IPv6 without brackets
  std::uint16_t port = 443;
  std::string server_name; ///< what its certificate must carry; empty: `host`
  std::string ca_pem;      ///< empty: the system's authorities
  std::string client_certificate_pem;
  Secret client_key_pem;
  bool tls = true;
  std::string user_agent = "zood/" ZOO_VERSION;
  /// Authorization: Bearer ...; null: none is sent. Read at each request.
  Published<const http::FieldLines> authorization;
};

struct PoolLimits {
  std::size_t idle = 64;           ///< connections kept, most recently used first
  std::size_t connections = 2'000; ///< in use and idle; more requests are refused
  /// Opening at the same time, at first and after one could not be opened; twice as many after
  /// each that could. More wait for a turn, or for a connection that comes back.
  std::size_t first_opening = 8;
  std::size_t gzips = 64; ///< calls whose answers may come as gzip; more are asked for identity
  std::size_t head_bytes = 64 * 1024;
  std::size_t high_watermark = 32 * 1024; ///< of a tunnel's buffer
  std::chrono::milliseconds idle_time{90'000};
  std::chrono::milliseconds connect{5'000}; ///< TCP; and as much again for TLS
  std::chrono::milliseconds answer{60'000}; ///< to the answer's head, and between its bytes
};

/// HTTP/1.1 connections from one loop to one upstream. A connection carries one request at a time
/// and is kept when its answer ended cleanly. Headers: Host, Authorization and User-Agent are set
/// only where the request has none, framing and hop-by-hop fields always by the pool. A GET or HEAD
/// without body is tried once more where a kept connection fails before the answer's first byte;
/// every other failure is told: Code::unavailable, or timeout.
/// Loop thread only. Outlives its calls; no callback comes from inside start().
class Pool : public Caller {
public:
  struct Stats {
    std::size_t idle = 0;
    std::size_t busy = 0;
    std::size_t waiting = 0; ///< requests, for a turn to open a connection
    std::size_t opened = 0;  ///< connections since the start
    std::size_t resumed = 0; ///< of these, with a resumed TLS session
  };

  /// `tally`: told of each answer; null: nobody is.
  Pool(net::Loop& loop, std::shared_ptr<const UpstreamEndpoint> endpoint, PoolLimits limits = {},
       std::shared_ptr<Tally> tally = nullptr);
  ~Pool() override;
  std::unique_ptr<Call> start(http::RequestHead head, CallOptions options,
                              CallHandler& handler) override;
  Stats stats() const;
  void set_limits(const PoolLimits& limits); ///< for calls from now on

  struct Impl; ///< pool_link.hpp, for the pool's own files
private:
  std::shared_ptr<Impl> impl_;
};

} // namespace zoo::upstream
