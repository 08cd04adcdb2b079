// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/event_socket.hpp"

#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/sha1.hpp"
#include "daemon/http/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zoo::http {
namespace {

constexpr std::string_view k_guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455 1.3
constexpr std::size_t k_short = 125;   // the longest payload whose length is in the second byte
constexpr unsigned char k_last = 0x80; // FIN, in a frame's first byte
constexpr unsigned char k_reserved = 0x70;
constexpr unsigned char k_masked = 0x80; // in its second byte
constexpr unsigned char k_length = 0x7f;
constexpr std::size_t k_mask = 4; // bytes

enum Opcode : unsigned char {
  continuation = 0,
  text_message = 1,
  binary_message = 2,
  close_frame = 8,
  ping_frame = 9,
  pong_frame = 10,
};

bool is_control(unsigned opcode) { return opcode >= close_frame; }

void add_frame(unsigned char opcode, std::string_view payload, std::string& out) {
  const auto size = payload.size();
  const auto put = [&out](std::uint64_t byte) { out += static_cast<char>(byte & 0xff); };
  put(k_last | opcode);
  if (size <= k_short) {
    put(size);
  } else if (size <= 0xffff) {
    put(126);
    put(size >> 8);
    put(size);
  } else {
    put(127);
    for (int shift = 56; shift >= 0; shift -= 8)
      put(static_cast<std::uint64_t>(size) >> shift);
  }
  out += payload;
}

/// An absolute URI, or a path: what Go's url.ParseRequestURI takes, more or less.
bool is_origin(std::string_view value) {
  return value.starts_with('/') || value.find("://") != std::string_view::npos;
}

} // namespace

bool asks_for_websocket(const RequestHead& head) {
  return head.upgrade && head.method == "GET" &&
         text::iequals(text::trim(head.headers.get("upgrade")), "websocket");
}

Result<EventSocket> EventSocket::open(const RequestHead& head, std::string_view subprotocols) {
  const auto key = text::trim(head.headers.get("sec-websocket-key"));
  if (key.empty())
    return zoo::fail(Code::bad_request, "the WebSocket handshake has no Sec-WebSocket-Key");
  if (text::trim(head.headers.get("sec-websocket-version")) != "13")
    return zoo::fail(Code::bad_request, "the WebSocket handshake needs Sec-WebSocket-Version: 13");
  if (!is_origin(text::trim(head.headers.get("origin"))))
    return zoo::fail(
        Code::forbidden,
        "a watch over WebSocket needs an Origin field that is a URL, as browsers send");
  const auto offered = text::trim(subprotocols);
  if (offered.find(',') != std::string_view::npos)
    return zoo::fail(Code::bad_request,
                     "a watch over WebSocket takes one subprotocol at most, not '{}'", offered);
  if (!offered.empty() && !is_token(offered))
    return zoo::fail(Code::bad_request, "the WebSocket subprotocol is not a token");
  return EventSocket(key, offered);
}

EventSocket::EventSocket(std::string_view key, std::string_view subprotocol)
    : accept_(crypto::base64_encode(crypto::sha1(std::string(key).append(k_guid)))),
      subprotocol_(subprotocol) {}

void EventSocket::shake_hands(ResponseHead& head) const {
  head.status = 101;
  head.headers.erase_if([](const Header& field) {
    return !text::iequals(field.name, "warning") && !text::iequals(field.name, "audit-id");
  });
  head.headers.add("upgrade", "websocket");
  head.headers.add("Sec-WebSocket-Accept", accept_);
  if (!subprotocol_.empty()) head.headers.add("Sec-WebSocket-Protocol", subprotocol_);
}

void EventSocket::add_message(Kind kind, std::string_view message, std::string& out) {
  add_frame(kind == Kind::text ? text_message : binary_message, message, out);
}

void EventSocket::receive(std::string_view bytes) {
  while (!bytes.empty() && state_ != State::over) {
    if (state_ == State::head) {
      head_bytes_[head_size_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      end_head();
      continue;
    }
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(payload_left_, bytes.size()));
    if ((head_bytes_[0] & 0xf) == ping_frame) {
      const auto* mask = head_bytes_.data() + head_size_ - k_mask;
      for (const char c : bytes.substr(0, count))
        control_ += static_cast<char>(c ^ mask[control_.size() % k_mask]);
    }
    bytes.remove_prefix(count);
    payload_left_ -= count;
    if (payload_left_ == 0) end_frame();
  }
}

/// Is the frame's head there, and is it one?
void EventSocket::end_head() {
  const unsigned opcode = head_bytes_[0] & 0xf;
  const bool last = (head_bytes_[0] & k_last) != 0;
  if (head_size_ == 1) {
    const bool known = opcode <= binary_message || (opcode >= close_frame && opcode <= pong_frame);
    const bool in_place = is_control(opcode) ? last : (opcode == continuation) == fragmented_;
    if ((head_bytes_[0] & k_reserved) != 0 || !known || !in_place) fail();
    return;
  }
  const std::size_t length = head_bytes_[1] & k_length;
  // What a client sends is masked, always (RFC 6455 5.1).
  if ((head_bytes_[1] & k_masked) == 0 || (is_control(opcode) && length > k_short)) return fail();
  const std::size_t more = length == 127 ? 8 : length == 126 ? 2 : 0;
  if (head_size_ < 2 + more + k_mask) return;
  payload_left_ = more == 0 ? length : 0;
  for (std::size_t i = 0; i < more; ++i)
    payload_left_ = payload_left_ << 8 | head_bytes_[2 + i];
  if ((payload_left_ >> 63) != 0) return fail();
  if (!is_control(opcode)) fragmented_ = !last;
  state_ = State::payload;
  control_.clear();
  if (payload_left_ == 0) end_frame();
}

void EventSocket::end_frame() {
  const unsigned opcode = head_bytes_[0] & 0xf;
  if (opcode == ping_frame) ping_ = std::move(control_);
  control_.clear();
  head_size_ = 0;
  state_ = opcode == close_frame ? State::over : State::head;
}

void EventSocket::fail() {
  broken_ = true;
  state_ = State::over;
}

void EventSocket::add_pong(std::string& out) {
  if (!ping_) return;
  add_frame(pong_frame, *ping_, out);
  ping_.reset();
}

void EventSocket::add_close(std::string& out) const {
  constexpr std::uint16_t k_normal = 1000, k_protocol_error = 1002; // RFC 6455 7.4.1
  const auto status = broken_ ? k_protocol_error : k_normal;
  const char payload[] = {static_cast<char>(status >> 8), static_cast<char>(status & 0xff)};
  add_frame(close_frame, {payload, sizeof(payload)}, out);
}

} // namespace zoo::http
