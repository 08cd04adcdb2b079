// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"
#include "daemon/http/answer.hpp"
#include "daemon/http/byte_queue.hpp"
#include "daemon/http/codec.hpp"
#include "daemon/http/h1_reader.hpp"
#include "daemon/http/syntax.hpp"

#include <fmt/format.h>

#include <charconv>

namespace zoo::http {
namespace {

/// Bytes of pipelined requests, or of a tunnel not yet open, that are kept before reading stops.
constexpr std::size_t k_ahead = 64 * 1024;

constexpr std::size_t k_chunk_frame = 20; ///< of RFC 9112 section 7.1: its size and two line ends

std::optional<std::uint64_t> content_length(const Headers& headers) {
  const auto text = headers.find("content-length");
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

class H1Codec final : public ServerCodec, private ServerStream {
public:
  H1Codec(const Limits& limits, Service& service, const ConnectionInfo& info, Wakeup wakeup)
      : limits_(limits), service_(service), info_(info), wakeup_(std::move(wakeup)),
        reader_({limits.header_bytes, limits.target_bytes, limits.header_fields}) {}
  ~H1Codec() override { end_handler(); }

  void receive(std::string_view bytes) override;
  void receive_end() override;
  std::size_t produce(std::string& out, std::size_t max) override;
  bool wants_read() const override {
    return close_ == Close::no && !throttled_ && ahead_.size() < k_ahead;
  }
  Close wants_close() const override {
    return close_ == Close::gracefully && !out_.empty() ? Close::no : close_;
  }
  bool write_ended() const override { return tunnel_ && response_ended_ && out_.empty(); }
  std::size_t open_streams() const override { return in_exchange_ ? 1 : 0; }
  std::size_t pending() const override { return out_.size(); }
  std::uint64_t refused() const override { return refused_; }
  Waiting waiting_for() const override;
  void drain() override { draining_ = true; }
  void leave() override;
  void closed() override;

private:
  enum class Framing { none, length, chunked, until_close };

  void send_head(const ResponseHead& head, bool end) override;
  void send_data(std::string_view bytes, bool end) override;
  bool writable() const override { return !blocked_; }
  void set_high_watermark(std::size_t bytes) override { high_watermark_ = bytes; }
  void reset(ResetReason reason) override;
  void consume(std::size_t bytes) override;
  const ConnectionInfo& connection() const override { return info_; }

  void advance();
  void advance(std::string_view& input);
  void begin_exchange();
  void deliver_tunnel(std::string_view& input);
  void answer_failure();
  void detach_with_reset();
  void end_handler();
  bool finish_exchange();
  void choose_framing(const ResponseHead& head, bool end, std::string& text);
  void end_response();

  const Limits limits_;
  Service& service_;
  const ConnectionInfo& info_;
  const Wakeup wakeup_;
  RequestReader reader_;
  ByteQueue ahead_; ///< received, not yet looked at
  ByteQueue out_;
  Close close_ = Close::no;
  bool draining_ = false;
  bool leaving_ = false; ///< handlers are told
  std::uint64_t refused_ = 0;
  bool first_ = true; ///< no request has arrived yet

  // The one exchange.
  std::unique_ptr<StreamHandler> handler_;
  bool in_exchange_ = false;
  bool detached_ = false; ///< reset: its handler hears and says nothing any more
  bool head_request_ = false;
  bool upgrade_ = false;
  bool http10_ = false;
  bool keep_alive_ = true;
  bool request_ended_ = false; ///< of a tunnel: the client half-closed
  bool head_sent_ = false;
  bool response_ended_ = false;
  bool tunnel_ = false;
  bool blocked_ = false;
  std::size_t high_watermark_ = 0; ///< of the answer, and of what was not consumed
  bool throttled_ = false;
  Framing framing_ = Framing::none;
  std::uint64_t length_left_ = 0;
  std::size_t unconsumed_ = 0;
};

void H1Codec::receive(std::string_view bytes) {
  if (close_ != Close::no) return;
  if (!ahead_.empty()) {
    ahead_.push(bytes);
    advance();
  } else {
    advance(bytes);
    ahead_.push(bytes);
  }
  finish_exchange();
}

void H1Codec::advance() {
  auto input = ahead_.view();
  const auto before = input.size();
  advance(input);
  ahead_.drop(before - input.size());
}

void H1Codec::advance(std::string_view& input) {
  while (close_ == Close::no) {
    if (tunnel_) return deliver_tunnel(input);
    if (in_exchange_ && request_ended_) return; // one at a time: the rest waits
    switch (reader_.next(input)) {
    case ReadEvent::need_more:
      return;
    case ReadEvent::head:
      begin_exchange();
      break;
    case ReadEvent::data: {
      const auto bytes = reader_.data();
      if (detached_ || !handler_ || response_ended_) break;
      unconsumed_ += bytes.size();
      if (unconsumed_ >= high_watermark_) throttled_ = true;
      handler_->on_data(bytes);
      break;
    }
    case ReadEvent::end:
      request_ended_ = true;
      if (!detached_ && handler_ && !response_ended_) handler_->on_end();
      break;
    case ReadEvent::failed:
      return answer_failure();
    }
  }
}

void H1Codec::begin_exchange() {
  auto head = reader_.take_head();
  const auto extra = reader_.extra();
  first_ = false;
  in_exchange_ = true;
  detached_ = request_ended_ = head_sent_ = response_ended_ = blocked_ = throttled_ = false;
  unconsumed_ = 0;
  high_watermark_ = limits_.high_watermark;
  head_request_ = head.method == "HEAD";
  upgrade_ = head.upgrade;
  http10_ = head.version == 10;
  keep_alive_ = extra.keep_alive;
  // A request without a body has ended already when its handler answers.
  if (!extra.has_body) request_ended_ = true;
  auto handler = service_.on_request(std::move(head), *this);
  handler_ = std::move(handler);
  if (!extra.has_body) request_ended_ = false; // `end` is still to come from the reader
  if (!handler_) reset(ResetReason::aborted);
  if (extra.expects_continue && !head_sent_ && !detached_)
    out_.push(std::string_view("HTTP/1.1 100 Continue\r\n\r\n"));
  if (tunnel_) { // answered 101 at once: what follows belongs to the tunnel
    std::string_view nothing;
    reader_.next(nothing);
    if (handler_ && !detached_) handler_->on_end();
  }
  if (leaving_ && handler_ && !detached_ && !response_ended_) handler_->on_leaving();
}

void H1Codec::deliver_tunnel(std::string_view& input) {
  if (input.empty() || request_ended_ || detached_ || !handler_) return;
  unconsumed_ += input.size();
  if (unconsumed_ >= high_watermark_) throttled_ = true;
  handler_->on_data(input);
  input = {};
}

void H1Codec::answer_failure() {
  const auto& failure = reader_.failure();
  const bool too_late = in_exchange_ && head_sent_;
  if (in_exchange_) detach_with_reset();
  if (too_late) {
    close_ = Close::abruptly;
    out_.clear();
    return;
  }
  const auto body = status_document(failure.status, "the request is refused: " + failure.message);
  out_.push(fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\n"
                        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
                        failure.status, status_phrase(failure.status), body.size(), body));
  close_ = Close::gracefully;
}

void H1Codec::receive_end() {
  if (close_ != Close::no) return;
  if (tunnel_) {
    advance();
    if (!request_ended_ && !detached_ && handler_) {
      request_ended_ = true;
      handler_->on_end();
    }
  } else if (in_exchange_ && response_ended_) {
    keep_alive_ = false;
  } else {
    if (in_exchange_) detach_with_reset();
    close_ = Close::gracefully;
    out_.clear();
  }
  finish_exchange();
}

std::size_t H1Codec::produce(std::string& out, std::size_t max) {
  std::size_t total = 0;
  for (;;) {
    total += out_.take(out, max - total);
    if (blocked_ && out_.size() < limits_.low_for(high_watermark_)) {
      blocked_ = false;
      if (handler_ && !detached_ && !response_ended_) handler_->on_drained();
    }
    const bool finished = finish_exchange();
    const auto ahead = ahead_.size();
    if (ahead > 0 && (!in_exchange_ || tunnel_)) advance();
    if (total >= max || (out_.empty() && ahead_.size() == ahead && !finished)) return total;
  }
}

/// Ends the exchange once nothing of it is left to do. True if there was one.
bool H1Codec::finish_exchange() {
  if (!in_exchange_) return false;
  if (close_ == Close::no) {
    if (!out_.empty() || !response_ended_) return false;
    // An answer before the request's end closes: what follows could not be told from a request.
    if (tunnel_ ? !request_ended_ : (!request_ended_ && keep_alive_)) return false;
  } else if (!detached_) {
    return false;
  }
  end_handler();
  in_exchange_ = false;
  unconsumed_ = 0;
  throttled_ = blocked_ = false;
  if (close_ != Close::no) return true;
  if (tunnel_ || !keep_alive_ || draining_) {
    close_ = Close::gracefully;
  } else {
    reader_.start_next();
  }
  return true;
}

void H1Codec::end_handler() {
  detached_ = true; // a handler's destructor may still hold the stream
  const auto handler = std::move(handler_);
}

void H1Codec::detach_with_reset() {
  if (detached_) return;
  detached_ = true;
  if (handler_) handler_->on_reset();
}

ServerCodec::Waiting H1Codec::waiting_for() const {
  if (in_exchange_) {
    if (tunnel_ && response_ended_ && out_.empty()) return Waiting::close;
    return request_ended_ || tunnel_ || throttled_ ? Waiting::nothing : Waiting::body;
  }
  return first_ || reader_.inside_head() ? Waiting::head : Waiting::nothing;
}

void H1Codec::leave() {
  draining_ = leaving_ = true;
  if (in_exchange_ && !detached_ && handler_ && !response_ended_) {
    handler_->on_leaving();
  } else if (!in_exchange_ && reader_.between_messages() && ahead_.empty()) {
    close_ = Close::gracefully;
  }
  wakeup_();
}

void H1Codec::closed() {
  close_ = Close::abruptly;
  out_.clear();
  if (in_exchange_) detach_with_reset();
  finish_exchange();
}

void H1Codec::choose_framing(const ResponseHead& head, bool end, std::string& text) {
  const auto length = content_length(head.headers);
  if (head_request_ || status_forbids_body(head.status)) {
    framing_ = Framing::none;
    if (length && head.status != 204 && head.status >= 200)
      text += fmt::format("Content-Length: {}\r\n", *length);
  } else if (length || end) {
    framing_ = Framing::length;
    length_left_ = length.value_or(0);
    text += fmt::format("Content-Length: {}\r\n", length_left_);
  } else if (http10_) {
    framing_ = Framing::until_close;
    keep_alive_ = false;
  } else {
    framing_ = Framing::chunked;
    text += "Transfer-Encoding: chunked\r\n";
  }
}

void H1Codec::send_head(const ResponseHead& head, bool end) {
  if (!in_exchange_ || detached_ || head_sent_) return;
  const bool switching = head.status == 101;
  if (head.status < 100 || head.status > 999 || (head.status < 200 && !switching) ||
      (switching && (!upgrade_ || !request_ended_)))
    return reset(ResetReason::aborted);
  head_sent_ = true;
  if (is_refusal(head.status)) ++refused_;
  if (!request_ended_ || draining_) keep_alive_ = false;

  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.status, status_phrase(head.status));
  for (const auto& [name, value] : head.headers) {
    if (is_hop_by_hop(name) || text::iequals(name, "content-length") || !is_token(name) ||
        !is_field_value(value))
      continue;
    text.append(name).append(": ").append(value).append("\r\n");
  }
  if (switching) {
    const auto protocol = head.headers.get("upgrade");
    text += fmt::format("Connection: Upgrade\r\nUpgrade: {}\r\n\r\n",
                        is_field_value(protocol) ? protocol : "");
    tunnel_ = true;
    request_ended_ = false; // from here on: of the tunnel
    framing_ = Framing::until_close;
    out_.push(std::move(text));
  } else {
    choose_framing(head, end, text);
    if (!keep_alive_) text += "Connection: close\r\n";
    text += "\r\n";
    out_.push(std::move(text));
  }
  if (end) end_response();
  wakeup_();
}

void H1Codec::send_data(std::string_view bytes, bool end) {
  if (!in_exchange_ || detached_ || response_ended_) return;
  if (!head_sent_) return reset(ResetReason::aborted);
  switch (framing_) {
  case Framing::none:
    break;
  case Framing::length:
    if (bytes.size() > length_left_) return reset(ResetReason::aborted);
    length_left_ -= bytes.size();
    out_.push(bytes);
    break;
  case Framing::until_close:
    out_.push(bytes);
    break;
  case Framing::chunked:
    if (bytes.empty()) break;
    out_.reserve(bytes.size() + k_chunk_frame);
    out_.push(fmt::format("{:x}\r\n", bytes.size()));
    out_.push(bytes);
    out_.push(std::string_view("\r\n"));
    break;
  }
  if (out_.size() >= high_watermark_) blocked_ = true;
  if (end) end_response();
  wakeup_();
}

void H1Codec::end_response() {
  if (framing_ == Framing::length && length_left_ > 0) return reset(ResetReason::aborted);
  if (framing_ == Framing::chunked) out_.push(std::string_view("0\r\n\r\n"));
  response_ended_ = true;
  throttled_ = false;
}

void H1Codec::reset(ResetReason) {
  if (!in_exchange_ || detached_) return;
  detached_ = true;
  out_.clear();
  close_ = Close::abruptly;
  wakeup_();
}

void H1Codec::consume(std::size_t bytes) {
  unconsumed_ -= std::min(bytes, unconsumed_);
  if (throttled_ && unconsumed_ < limits_.low_watermark) {
    throttled_ = false;
    wakeup_();
  }
}

} // namespace

std::unique_ptr<ServerCodec> make_h1_codec(const Limits& limits, Service& service,
                                           const ConnectionInfo& info, Wakeup wakeup) {
  return std::make_unique<H1Codec>(limits, service, info, std::move(wakeup));
}

} // namespace zoo::http
