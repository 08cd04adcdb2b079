// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"
#include "common/base/text.hpp"
#include "daemon/http/answer.hpp"
#include "daemon/http/codec.hpp"
#include "daemon/http/h2_stream.hpp"
#include "daemon/http/syntax.hpp"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <exception>
#include <map>

/// The rules of nghttp2 that shape this file: its functions are never re-entered from its
/// callbacks (they submit and record only), a stream's user data is our map and not its pointer,
/// and flow control is ours (no automatic WINDOW_UPDATE).
namespace zoo::http {
namespace {

/// Frames that cost us work and bring nothing (PING, PRIORITY, WINDOW_UPDATE, empty DATA), in a row
/// without any request or byte of a body (CVE-2019-9511 and its sisters).
constexpr std::size_t k_idle_frames = 10'000;
constexpr std::size_t k_max_settings = 32;
constexpr std::size_t k_max_continuations = 8;
constexpr std::size_t k_max_outbound_acks = 256;
/// Streams of a connection that are answered while the rest of their requests is read on.
constexpr std::size_t k_max_reading_on = 16;

class H2Codec final : public ServerCodec, private H2Session {
public:
  H2Codec(const Limits& bounds, Service& service, const ConnectionInfo& peer, Wakeup note);
  ~H2Codec() override;

  void receive(std::string_view bytes) override;
  void receive_end() override;
  std::size_t produce(std::string& out, std::size_t max) override;
  bool wants_read() const override { return close_ == Close::no && !calmed_; }
  Close wants_close() const override;
  bool write_ended() const override { return false; }
  std::size_t open_streams() const override { return streams_.size(); }
  std::size_t pending() const override { return buffered; }
  std::uint64_t refused() const override { return refusals; }
  Waiting waiting_for() const override;
  void reset_stalled() override;
  void stop_reading_on(std::chrono::steady_clock::time_point now) override;
  void drain() override;
  void leave() override;
  void closed() override;

  // Called by nghttp2, through the trampolines below.
  int begin_headers(const nghttp2_frame& frame);
  int header(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int frame_received(const nghttp2_frame& frame);
  int invalid_frame();
  int data(std::int32_t id, std::string_view bytes);
  int stream_closed(std::int32_t id);
  int frame_sent(const nghttp2_frame& frame);
  ssize_t read_data(std::int32_t id, std::size_t size, std::uint32_t* flags);
  int send_data(const nghttp2_frame& frame, std::string_view head, std::size_t size);

private:
  // H2Session
  bool submit_head(std::int32_t stream, const std::vector<Field>& fields, bool body) override;
  void resume(std::int32_t stream) override { nghttp2_session_resume_data(session_, stream); }
  void submit_reset(std::int32_t stream, ResetReason reason) override;
  void open_window(std::int32_t stream, std::size_t bytes) override {
    nghttp2_session_consume(session_, stream, bytes);
  }

  H2Stream* find(std::int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second.get();
  }
  void dispatch(H2Stream& stream);
  void refuse(H2Stream& stream, int status, std::string_view text);
  void end_request(H2Stream& stream);
  void discard(H2Stream* stream, std::int32_t id, std::size_t bytes);
  void read_on(H2Stream& stream);
  void stop(H2Stream& stream);
  void reset_everybody();
  void notify_drained();
  void calm_down();
  void note_idle_frame() {
    if (++idle_frames_ > k_idle_frames) calm_down();
  }

  Service& service_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, std::unique_ptr<H2Stream>> streams_;
  std::vector<std::unique_ptr<H2Stream>> graveyard_; ///< closed inside a callback
  std::string* produced_ = nullptr;                  ///< inside produce(): where to
  std::size_t produce_stop_ = 0;                     ///< and up to which size of it
  std::vector<nghttp2_nv> fields_;                   ///< of the head that is being submitted
  std::size_t idle_frames_ = 0;
  std::size_t induced_resets_ = 0;
  std::size_t invalid_frames_ = 0;
  std::size_t served_ = 0;
  bool greeted_ = false, inside_headers_ = false, draining_ = false, goaway_sent_ = false;
  bool leaving_ = false; ///< handlers are told
  bool calmed_ = false;  ///< no more is read of who has to go
  Close close_ = Close::no;
};

// ---- trampolines ----

/// Nothing may be thrown through nghttp2's frames.
template <class Function>
int guarded(Function&& function) noexcept {
  try {
    return function();
  } catch (const std::exception& error) {
    log::error("http", "an exception inside an HTTP/2 callback: {}", error.what());
  } catch (...) {
    log::error("http", "an unknown exception inside an HTTP/2 callback");
  }
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

H2Codec& self(void* user) { return *static_cast<H2Codec*>(user); }

std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

int on_begin_headers(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  return guarded([&] { return self(user).begin_headers(*frame); });
}
int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
              std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
              std::uint8_t, void* user) {
  return guarded([&] {
    return self(user).header(*frame, text_of(name, name_size), text_of(value, value_size));
  });
}
int on_frame_received(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  return guarded([&] { return self(user).frame_received(*frame); });
}
int on_invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
  return guarded([&] { return self(user).invalid_frame(); });
}
int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes,
            std::size_t size, void* user) {
  return guarded([&] { return self(user).data(id, text_of(bytes, size)); });
}
int on_stream_closed(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
  return guarded([&] { return self(user).stream_closed(id); });
}
int on_frame_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
  return guarded([&] { return self(user).frame_sent(*frame); });
}
ssize_t on_read_data(nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t size,
                     std::uint32_t* flags, nghttp2_data_source*, void* user) {
  ssize_t count = 0;
  const int rv = guarded([&] {
    count = self(user).read_data(id, size, flags);
    return 0;
  });
  return rv == 0 ? count : rv;
}
int on_send_data(nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t size,
                 nghttp2_data_source*, void* user) {
  constexpr std::size_t k_frame_head = 9; // RFC 9113 section 4.1
  return guarded([&] { return self(user).send_data(*frame, text_of(head, k_frame_head), size); });
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) { // nghttp2 copies, its type only lacks const
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

nghttp2_session* make_session(const Limits& limits, H2Codec* codec) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* option = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0)
    throw std::bad_alloc();
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_received);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_closed);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_data);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_max_reserved_remote_streams(option, 0);
  nghttp2_option_set_max_settings(option, k_max_settings);
  nghttp2_option_set_max_outbound_ack(option, k_max_outbound_acks);
  nghttp2_option_set_max_continuations(option, k_max_continuations);
  nghttp2_option_set_stream_reset_rate_limit(option, limits.reset_burst, limits.reset_rate);
  nghttp2_session* session = nullptr;
  const int rv = nghttp2_session_server_new2(&session, callbacks, codec, option);
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  if (rv != 0) throw std::bad_alloc();
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.stream_window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(limits.header_bytes)},
  };
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                        static_cast<std::int32_t>(limits.connection_window));
  return session;
}

// ---- the codec ----

H2Codec::H2Codec(const Limits& bounds, Service& service, const ConnectionInfo& peer, Wakeup note)
    : H2Session(bounds, peer, std::move(note)), service_(service),
      session_(make_session(bounds, this)) {}

H2Codec::~H2Codec() {
  for (auto& [id, stream] : streams_)
    stream->destroy_handler();
  for (auto& stream : graveyard_)
    stream->destroy_handler();
  nghttp2_session_del(session_);
}

void H2Codec::receive(std::string_view bytes) {
  if (close_ != Close::no) return;
  const auto rv = nghttp2_session_mem_recv(
      session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (rv < 0) {
    log::debug("http", "{}: HTTP/2: {}", info.peer, nghttp2_strerror(static_cast<int>(rv)));
    reset_everybody();
    close_ = Close::abruptly;
  }
  graveyard_.clear();
}

std::size_t H2Codec::produce(std::string& out, std::size_t max) {
  const auto before = out.size();
  constexpr std::size_t k_heads = 512; // of frames, and a block of header fields
  if (buffered > 0) out.reserve(before + std::min(buffered, max) + k_heads);
  produced_ = &out;
  produce_stop_ = before + max;
  while (close_ == Close::no && out.size() - before < max) {
    const std::uint8_t* bytes = nullptr;
    const auto size = out.size(); // DATA frames are appended in send_data()
    const auto count = nghttp2_session_mem_send(session_, &bytes);
    if (count < 0) {
      reset_everybody();
      close_ = Close::abruptly;
      break;
    }
    if (count == 0 && out.size() == size) break;
    out.append(text_of(bytes, static_cast<std::size_t>(count)));
  }
  produced_ = nullptr;
  const auto total = out.size() - before;
  notify_drained();
  graveyard_.clear();
  return total;
}

void H2Codec::notify_drained() {
  if (buffered >= limits.connection_pending) return;
  for (auto& [id, stream] : streams_) { // handlers only submit: the map does not change in here
    if (stream->drained()) stream->handler->on_drained();
  }
}

ServerCodec::Close H2Codec::wants_close() const {
  if (close_ != Close::no) return close_;
  const bool done =
      nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0;
  return done ? Close::gracefully : Close::no;
}

ServerCodec::Waiting H2Codec::waiting_for() const {
  if (!greeted_ || inside_headers_) return Waiting::head;
  const bool body = std::any_of(streams_.begin(), streams_.end(), [](const auto& each) {
    const auto& stream = *each.second;
    return !stream.request_ended && !stream.detached && stream.unconsumed == 0;
  });
  return body ? Waiting::body : Waiting::nothing;
}

/// RFC 9113 section 6.8: first a GOAWAY that refuses nothing, then, when the client has seen it
/// (its answer to our PING), one that names the last request.
void H2Codec::drain() {
  if (draining_) return;
  draining_ = true;
  for (auto& [id, stream] : streams_) {
    if (stream->reads_on) stop(*stream);
  }
  nghttp2_submit_shutdown_notice(session_);
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  wakeup();
}

void H2Codec::leave() {
  drain();
  leaving_ = true;
  for (auto& [id, stream] : streams_) { // handlers only submit: the map does not change in here
    if (stream->handler && !stream->detached && !stream->ended) stream->handler->on_leaving();
  }
  wakeup();
}

void H2Codec::receive_end() {
  reset_everybody();
  close_ = Close::gracefully;
  graveyard_.clear();
}

void H2Codec::closed() {
  reset_everybody();
  close_ = Close::abruptly;
  graveyard_.clear();
}

void H2Codec::reset_everybody() {
  for (auto& [id, stream] : streams_) {
    if (stream->handler && !std::exchange(stream->detached, true)) stream->handler->on_reset();
  }
  for (auto& [id, stream] : streams_)
    graveyard_.push_back(std::move(stream));
  streams_.clear();
  buffered = 0;
}

void H2Codec::reset_stalled() {
  for (auto& [id, stream] : streams_) { // handlers only submit: the map does not change in here
    if (stream->detached || !stream->stalled()) continue;
    stream->reset(ResetReason::aborted);
    if (stream->handler) stream->handler->on_reset();
  }
}

/// Nobody wants these bytes. The connection's other streams shall not wait for them; this one may
/// go on until it has sent too many.
void H2Codec::discard(H2Stream* stream, std::int32_t id, std::size_t bytes) {
  nghttp2_session_consume_connection(session_, bytes);
  if (stream == nullptr) return;
  stream->discarded += bytes;
  if (stream->discarded <= limits.discard_bytes) {
    nghttp2_session_consume_stream(session_, id, bytes);
  } else if (stream->reads_on) {
    stop(*stream);
  }
}

/// RFC 9113 section 8.1 allows a reset with NO_ERROR at once, where a request is answered before it
/// is complete; but many clients lose the answer then. Those that wait longest make room for more.
void H2Codec::read_on(H2Stream& stream) {
  open_window(stream.id, std::exchange(stream.unconsumed, 0));
  stream.destroy_handler(); // it has said all
  if (draining_ || stream.discarded > limits.discard_bytes) return stop(stream);
  stream.reads_on = true;
  std::size_t count = 0;
  H2Stream* first = nullptr; // the numbers grow: it has waited longest, or nearly
  for (auto& [id, each] : streams_) {
    if (!each->reads_on) continue;
    if (first == nullptr) first = each.get();
    ++count;
  }
  if (count > k_max_reading_on) stop(*first);
}

void H2Codec::stop(H2Stream& stream) {
  stream.reads_on = false;
  stream.reset_by_us = true;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_NO_ERROR);
  wakeup();
}

void H2Codec::stop_reading_on(std::chrono::steady_clock::time_point now) {
  for (auto& [id, stream] : streams_) {
    if (!stream->reads_on) continue;
    if (!stream->reads_on_since) stream->reads_on_since = now;
    if (now - *stream->reads_on_since > limits.discard_time) stop(*stream);
  }
}

void H2Codec::calm_down() {
  calmed_ = true;
  nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

// ---- from nghttp2 ----

int H2Codec::begin_headers(const nghttp2_frame& frame) {
  inside_headers_ = true;
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST) return 0; // trailers
  const auto id = frame.hd.stream_id;
  streams_.emplace(id, std::make_unique<H2Stream>(static_cast<H2Session&>(*this), id));
  return 0;
}

int H2Codec::header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
  auto* stream = find(frame.hd.stream_id);
  if (frame.headers.cat != NGHTTP2_HCAT_REQUEST || stream == nullptr) return 0;
  auto& request = stream->request;
  stream->header_bytes += name.size() + value.size() + 32; // RFC 9113 section 6.5.2
  if (stream->header_bytes > limits.header_bytes ||
      request.headers.size() >= limits.header_fields) {
    stream->refusal = 431;
    stream->refusal_text = "the header fields are too large";
    return 0;
  }
  // Names, values and the set of pseudo fields were validated by nghttp2.
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.target = value;
  } else if (name == ":authority") {
    request.authority = value;
  } else if (name == "host") {
    if (request.authority.empty()) request.authority = value;
  } else if (!name.starts_with(':') && !is_hop_by_hop(name)) {
    request.headers.add(name, value);
  }
  return 0;
}

void H2Codec::refuse(H2Stream& stream, int status, std::string_view text) {
  const auto body = status_document(status, fmt::format("the request is refused: {}", text));
  stream.send_head({status, {{"content-type", "application/json"}}}, false);
  stream.send_data(body, true);
}

void H2Codec::dispatch(H2Stream& stream) {
  auto& request = stream.request;
  request.version = 20;
  ++served_;
  idle_frames_ = 0;
  stream.bodyless = request.method == "HEAD";
  if (stream.refusal != 0) return refuse(stream, stream.refusal, stream.refusal_text);
  if (request.method == "CONNECT") return refuse(stream, 405, "CONNECT is not served here");
  if (!is_token(request.method)) return refuse(stream, 400, "the method is not a token");
  if (request.target.size() > limits.target_bytes)
    return refuse(stream, 414, "the path and query are too long");
  if (!is_origin_form(request.target) && !(request.target == "*" && request.method == "OPTIONS"))
    return refuse(stream, 400, "the request's target is not a path");
  if (!is_authority(request.authority)) return refuse(stream, 400, "no authority");
  const bool expects = text::iequals(request.headers.get("expect"), "100-continue");
  request.headers.remove("expect");
  stream.handler = service_.on_request(std::move(request), stream);
  if (!stream.handler) return stream.reset(ResetReason::aborted);
  if (leaving_ && !stream.detached && !stream.ended) stream.handler->on_leaving();
  if (expects && !stream.head_sent && !stream.detached && !stream.request_ended) {
    const auto status = field(":status", "100");
    nghttp2_submit_headers(session_, NGHTTP2_FLAG_NONE, stream.id, nullptr, &status, 1, nullptr);
  }
}

void H2Codec::end_request(H2Stream& stream) {
  stream.request_ended = true;
  if (stream.handler && !stream.detached && !stream.ended) stream.handler->on_end();
}

int H2Codec::frame_received(const nghttp2_frame& frame) {
  auto* stream = find(frame.hd.stream_id);
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  switch (frame.hd.type) {
  case NGHTTP2_HEADERS:
    inside_headers_ = false;
    if (stream == nullptr) break;
    // end_request() below tells the handler; here the fact alone, for who answers at once.
    if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) {
      stream->request_ended = ends;
      dispatch(*stream);
    }
    if (ends) end_request(*stream);
    break;
  case NGHTTP2_DATA:
    if (frame.hd.length == 0 && !ends) note_idle_frame();
    if (stream != nullptr && ends) end_request(*stream);
    break;
  case NGHTTP2_SETTINGS:
    greeted_ = true;
    note_idle_frame();
    break;
  case NGHTTP2_PING:
    if ((frame.hd.flags & NGHTTP2_FLAG_ACK) == 0) {
      note_idle_frame();
    } else if (draining_ && !std::exchange(goaway_sent_, true)) {
      nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                            nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                            nullptr, 0);
    }
    break;
  case NGHTTP2_PRIORITY:
  case NGHTTP2_WINDOW_UPDATE:
    note_idle_frame();
    break;
  default:
    break;
  }
  return 0;
}

/// What nghttp2 refuses by itself, streams beyond the allowed number among it: the resets for it
/// wait until the client reads, and must not be without number.
int H2Codec::invalid_frame() {
  if (++invalid_frames_ > limits.reset_burst + served_ / 2) calm_down();
  return 0;
}

int H2Codec::data(std::int32_t id, std::string_view bytes) {
  idle_frames_ = 0;
  auto* stream = find(id);
  if (stream == nullptr || stream->detached || !stream->handler || stream->ended) {
    discard(stream, id, bytes.size());
    return 0;
  }
  stream->unconsumed += bytes.size();
  stream->handler->on_data(bytes);
  return 0;
}

int H2Codec::stream_closed(std::int32_t id) {
  inside_headers_ = false;
  const auto found = streams_.find(id);
  if (found == streams_.end()) return 0;
  auto stream = std::move(found->second);
  streams_.erase(found);
  stream->drop_buffer();
  // What the handler had not consumed must not stay lost to the connection's window.
  if (stream->unconsumed > 0) nghttp2_session_consume_connection(session_, stream->unconsumed);
  stream->unconsumed = 0;
  const bool whole = stream->end_sent;
  if (!std::exchange(stream->detached, true) && stream->handler && !whole)
    stream->handler->on_reset();
  graveyard_.push_back(std::move(stream));
  return 0;
}

int H2Codec::frame_sent(const nghttp2_frame& frame) {
  auto* stream = find(frame.hd.stream_id);
  const bool carries_end = frame.hd.type == NGHTTP2_DATA || frame.hd.type == NGHTTP2_HEADERS;
  if (carries_end && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 && stream != nullptr) {
    stream->end_sent = true;
    if (!stream->request_ended) read_on(*stream);
  }
  // Resets that a client provokes by broken frames count like its own (CVE-2025-8671).
  if (frame.hd.type == NGHTTP2_RST_STREAM && (stream == nullptr || !stream->reset_by_us) &&
      ++induced_resets_ > limits.reset_burst + served_ / 2)
    calm_down();
  return 0;
}

/// How much of the stream's buffer the next frame takes; send_data() moves it.
ssize_t H2Codec::read_data(std::int32_t id, std::size_t size, std::uint32_t* flags) {
  auto* stream = find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const auto count = std::min(stream->pending(), size);
  if (count == 0 && !stream->ended) {
    stream->deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  if (count == stream->pending() && stream->ended) *flags |= NGHTTP2_DATA_FLAG_EOF;
  *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  return static_cast<ssize_t>(count);
}

/// Called inside produce(), whose `out` has all that goes before.
int H2Codec::send_data(const nghttp2_frame& frame, std::string_view head, std::size_t size) {
  auto* stream = find(frame.hd.stream_id);
  if (stream == nullptr || produced_ == nullptr || stream->pending() < size)
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  if (size > 0) idle_frames_ = 0;
  produced_->append(head);
  stream->take(*produced_, size);
  // nghttp2 would go on with the next frame; what is taken here is counted no more.
  if (produced_->size() >= produce_stop_) return NGHTTP2_ERR_PAUSE;
  return 0;
}

// ---- what streams ask ----

bool H2Codec::submit_head(std::int32_t stream, const std::vector<Field>& fields, bool body) {
  fields_.clear();
  for (const auto& [name, value] : fields) {
    fields_.push_back(field(name, value));
    // Another one each time: the table would hold nothing else, and be searched through for it.
    if (name == "audit-id") fields_.back().flags |= NGHTTP2_NV_FLAG_NO_INDEX;
  }
  nghttp2_data_provider provider{};
  provider.read_callback = on_read_data;
  return nghttp2_submit_response(session_, stream, fields_.data(), fields_.size(),
                                 body ? &provider : nullptr) == 0;
}

void H2Codec::submit_reset(std::int32_t stream, ResetReason reason) {
  const auto code = reason == ResetReason::cancelled ? NGHTTP2_CANCEL
                    : reason == ResetReason::refused ? NGHTTP2_REFUSED_STREAM
                                                     : NGHTTP2_INTERNAL_ERROR;
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, code);
}

} // namespace

std::unique_ptr<ServerCodec> make_h2_codec(const Limits& limits, Service& service,
                                           const ConnectionInfo& info, Wakeup wakeup) {
  return std::make_unique<H2Codec>(limits, service, info, std::move(wakeup));
}

} // namespace zoo::http
