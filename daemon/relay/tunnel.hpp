// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/http/h1_reader.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/net/tls.hpp"
#include "daemon/net/tls_pipe.hpp"
#include "daemon/relay/port_frames.hpp"
#include "daemon/upstream/call.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace zoo::relay {

/// What a webhook said, in the tenant's names.
struct HookAnswer {
  int status = 200;
  std::string body;
};

/// Where a tunnel leads: one port of one pod of the tenant's.
struct Way {
  std::string name_space;                     ///< upstream's name, proven to be the tenant's
  std::string pod;                            ///< a DNS name
  std::uint16_t port = 0;                     ///< of the pod
  std::string owner;                          ///< the tenant's ID
  std::shared_ptr<const http::FieldLines> as; ///< the tenant's user, who may do this there
  std::shared_ptr<const net::TlsClientContext> tls;

  /// Of the port-forward: "/api/v1/namespaces/foofoo-shop/pods/hook-0/portforward?ports=9443".
  std::string path() const;
};

/// A connection to a webhook in a pod: a port-forward by WebSocket, TLS inside it whose server is
/// verified by the tenant's own authority, and HTTP/1.1 in that, one request at a time. On one
/// loop, which it does not outlive. Whoever drops the last reference ends it silently; it holds
/// itself for the time of a callback.
class Tunnel final : public std::enable_shared_from_this<Tunnel>, private upstream::CallHandler {
public:
  /// `began`: of a failure, whether a byte of the answer had come. Ask over() what is left of the
  /// tunnel: of a failure nothing, of an answer what its webhook wants.
  using Done = std::function<void(Result<HookAnswer> answer, bool began)>;

  /// `gone` comes once, of one that ends while nothing was asked. Answers of more than `limit`
  /// bytes are Code::too_large.
  static std::shared_ptr<Tunnel> open(upstream::Caller& caller, Way way, std::size_t limit,
                                      std::function<void()> gone);
  ~Tunnel() override = default;

  /// A whole request; it leaves when the tunnel is open. Errors: Code::unavailable, in one sentence
  /// that names the pod; Code::too_large. `done` never comes from inside this call.
  void ask(std::string request, Done done);
  /// Nothing more is heard of it, and the pod is hung up on.
  void close();

  bool idle() const { return phase_ == Phase::open && !done_; } ///< can be asked
  bool over() const { return phase_ == Phase::over; }
  const Way& way() const { return way_; }

private:
  enum class Phase : std::uint8_t { connecting, handshake, open, over };

  Tunnel(Way way, std::size_t limit, std::function<void()> gone);
  void on_head(http::ResponseHead head) override;
  void on_data(std::string_view bytes) override;
  void on_end() override;
  void on_error(Error error) override;
  bool take(std::string_view cipher);
  bool read_answer(std::string_view plain);
  void send_request();
  void flush();
  void finish(bool again);
  void fail_with(Code code, std::string_view why);

  const Way way_;
  const std::size_t limit_;
  std::function<void()> gone_;
  Phase phase_ = Phase::connecting;
  std::unique_ptr<upstream::Call> call_;
  PortFrames frames_;
  std::unique_ptr<net::TlsPipe> tls_;
  http::ResponseReader reader_;
  std::string request_; ///< not sent yet
  Done done_;           ///< set: something was asked
  bool began_ = false;  ///< a byte of its answer has come
  bool head_seen_ = false;
  HookAnswer answer_;
};

} // namespace zoo::relay
