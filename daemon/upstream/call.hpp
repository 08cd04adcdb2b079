// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace zoo::upstream {

/// Bytes of an error's body that are kept.
inline constexpr std::size_t k_max_status = std::size_t{1} << 20;

/// Hears the answer of one request to the upstream, on the loop that started it. After on_end() or
/// on_error() nothing more comes. May destroy its Call inside any callback.
class CallHandler {
public:
  virtual ~CallHandler() = default;
  virtual void on_head(http::ResponseHead head) = 0;
  virtual void on_data(std::string_view bytes) = 0; ///< decoded body (no chunking), or tunnel bytes
  virtual void on_end() = 0;                        ///< the body was complete
  /// Connect failed, timed out, closed mid-body, spoke garbage: one sentence, no credentials.
  virtual void on_error(Error error) = 0;
  /// Tunnel: writable() again, after it was false.
  virtual void on_drained() {}
};

/// One request on its way. Destroying it cancels: the connection is closed unless it is clean.
class Call {
public:
  virtual ~Call() = default;
  virtual void pause() = 0; ///< stop reading the answer: the socket's window fills, nothing else
  virtual void resume() = 0;
  /// After a 101: bytes for the tunnel. send_end() half-closes.
  virtual void send_data(std::string_view bytes) = 0;
  virtual void send_end() = 0;
  virtual bool writable() const = 0; ///< tunnel buffer below its high watermark
};

/// Of what zood asks for itself; `target` may have a query.
inline http::RequestHead get_head(std::string target, std::string_view accept) {
  http::RequestHead head;
  head.method = "GET";
  head.target = std::move(target);
  head.headers.add("Accept", accept);
  return head;
}

/// Will asking again make a difference to such an answer?
inline bool passing(int http_status) {
  return http_status >= 500 || http_status == 429 || http_status == 408;
}

/// What a request upstream needs beside its head.
struct CallOptions {
  std::string body; ///< whole; Content-Length is set from it
  bool long_running =
      false; ///< watch, log, exec: no time limit; a log that is silent begins with its first line
  bool upgrade = false; ///< HTTP/1.1 upgrade: own connection, a tunnel after 101
  /// What Accept-Encoding says of an answer that is read here: `gzip` for one that may be long,
  /// which is then opened before anybody hears of it. `own`: what the head says, or does not say.
  enum class Encoding : std::uint8_t { identity, gzip, own };
  Encoding encoding = Encoding::identity;
  /// Of a tenant's long-running call, the tenant: one has a share of the connections for these, and
  /// so have all together.
  std::string owner{};
};

/// Starts requests to one upstream from one loop. Implemented by Pool; tests implement it with
/// scripted answers. No callback comes before start() has returned.
class Caller {
public:
  virtual ~Caller() = default;
  virtual std::unique_ptr<Call> start(http::RequestHead head, CallOptions options,
                                      CallHandler& handler) = 0;
};

} // namespace zoo::upstream
