// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/byte_queue.hpp"
#include "daemon/http/codec.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::http {

/// What a stream asks of the HTTP/2 session that it belongs to, and what all of them share. Its
/// functions only submit: they call no handler.
class H2Session {
public:
  struct Field {
    std::string_view name, value;
  };

  H2Session(const Limits& bounds, const ConnectionInfo& peer, Wakeup note)
      : limits(bounds), info(peer), wakeup(std::move(note)) {}
  virtual ~H2Session() = default;

  // The head that a stream submits.
  std::vector<Field> head_fields;
  std::string head_names; ///< lower case, as HTTP/2 wants them

  /// HEADERS, with END_STREAM if no `body` follows; false: not possible (any more).
  virtual bool submit_head(std::int32_t stream, const std::vector<Field>& fields, bool body) = 0;
  virtual void resume(std::int32_t stream) = 0; ///< there is something to send again
  virtual void submit_reset(std::int32_t stream, ResetReason reason) = 0;
  virtual void open_window(std::int32_t stream, std::size_t bytes) = 0;

  const Limits limits;
  const ConnectionInfo& info;
  const Wakeup wakeup;
  std::size_t buffered = 0;   ///< bytes in all streams' buffers
  std::uint64_t refusals = 0; ///< answers that ServerCodec::refused() tells of
};

/// One exchange of an HTTP/2 connection: its buffer, and where it stands. The session moves what is
/// public here; on its loop.
struct H2Stream final : ServerStream {
  H2Stream(H2Session& owner, std::int32_t number)
      : session(owner), id(number), high_watermark(owner.limits.high_watermark) {}

  void send_head(const ResponseHead& head, bool end) override;
  void send_data(std::string_view bytes, bool end) override;
  void give_data(std::string&& bytes, bool end) override;
  bool writable() const override;
  std::size_t pending() const override { return out.size(); }
  void set_high_watermark(std::size_t bytes) override { high_watermark = bytes; }
  void reset(ResetReason reason) override;
  void consume(std::size_t bytes) override;
  bool request_complete() const override { return request_ended; }
  const ConnectionInfo& connection() const override { return session.info; }

  void take(std::string& to, std::size_t bytes); ///< from the buffer; at most pending()
  void drop_buffer();
  /// Has none of what it holds left since the last call but one?
  bool stalled();
  /// The buffer has fallen so far that its handler must hear of it; true once.
  bool drained();
  void destroy_handler();

  H2Session& session;
  const std::int32_t id;
  RequestHead request;
  std::size_t header_bytes = 0;
  int refusal = 0; ///< status that the codec answers by itself
  std::string refusal_text;
  std::unique_ptr<StreamHandler> handler;
  std::size_t unconsumed = 0;
  bool request_ended = false;
  bool head_sent = false;
  bool bodyless = false;
  bool ended = false;    ///< the handler has given everything
  bool end_sent = false; ///< END_STREAM has left
  bool deferred = false; ///< the session waits for resume()
  bool detached = false; ///< the handler hears and says nothing any more
  bool reset_by_us = false;
  /// It was answered before its request was complete, and the rest is read and thrown away.
  bool reads_on = false;
  std::size_t discarded = 0; ///< bytes of the request that came once it was answered
  std::optional<std::chrono::steady_clock::time_point> reads_on_since; ///< as far as it is known

private:
  template <class Bytes>
  void send(Bytes&& bytes, bool end);

  ChunkQueue out;
  std::size_t high_watermark;
  std::optional<std::uint64_t> length_left;
  mutable bool blocked = false;
  unsigned looks = 0; ///< of stalled(), since bytes left
};

} // namespace zoo::http
