// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/event_socket.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo;
using namespace zoo::http;
using namespace std::string_literals;

namespace {

RequestHead handshake() {
  RequestHead head{"GET", "/api/v1/pods?watch=true", "host", {}, 11, true};
  head.headers = {{"Upgrade", "WebSocket"},
                  {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}, // RFC 6455 1.3
                  {"Sec-WebSocket-Version", "13"},
                  {"Origin", "https://host"}};
  return head;
}

EventSocket opened() { return EventSocket::open(handshake(), "").value(); }

/// What a client sends: masked. `first`: its first byte.
std::string frame(int first, const std::string& payload, bool masked = true) {
  const std::string mask = "\x01\xf2\x33\x84";
  std::string out(1, static_cast<char>(first));
  const int flag = masked ? 0x80 : 0;
  if (payload.size() < 126) {
    out += static_cast<char>(flag | static_cast<int>(payload.size()));
  } else if (payload.size() < 65536) {
    out += static_cast<char>(flag | 126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size());
  } else {
    out += static_cast<char>(flag | 127);
    for (int shift = 56; shift >= 0; shift -= 8)
      out += static_cast<char>(payload.size() >> shift);
  }
  if (!masked) return out + payload;
  out += mask;
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += static_cast<char>(payload[i] ^ mask[i % 4]);
  return out;
}

std::string pong(EventSocket& socket) {
  std::string out;
  socket.add_pong(out);
  return out;
}

std::string close(const EventSocket& socket) {
  std::string out;
  socket.add_close(out);
  return out;
}

} // namespace

TEST_CASE("event socket: a handshake is answered as RFC 6455 says") {
  CHECK(asks_for_websocket(handshake()));
  ResponseHead head{200,
                    {{"content-type", "application/json"},
                     {"warning", "299 - \"x\""},
                     {"audit-id", "a"},
                     {"cache-control", "no-cache"}}};
  opened().shake_hands(head);
  CHECK(head.status == 101);
  CHECK(head.headers.get("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK(head.headers.get("upgrade") == "websocket");
  CHECK(head.headers.get("warning") == "299 - \"x\"");
  CHECK(head.headers.get("audit-id") == "a");
  CHECK(head.headers.size() == 4);

  EventSocket::open(handshake(), "base64.binary.k8s.io")->shake_hands(head);
  CHECK(head.headers.get("sec-websocket-protocol") == "base64.binary.k8s.io");
}

TEST_CASE("event socket: who does not ask for one, and handshakes that are none") {
  auto head = handshake();
  head.upgrade = false;
  CHECK_FALSE(asks_for_websocket(head));
  head = handshake();
  head.method = "POST";
  CHECK_FALSE(asks_for_websocket(head));
  head = handshake();
  head.headers.set("upgrade", "SPDY/3.1");
  CHECK_FALSE(asks_for_websocket(head));

  const auto code = [](std::string_view name, std::string_view value,
                       std::string_view subprotocols = "") {
    auto broken = handshake();
    if (!name.empty()) broken.headers.set(name, value);
    return EventSocket::open(broken, subprotocols).error().code();
  };
  CHECK(code("sec-websocket-key", "") == Code::bad_request);
  CHECK(code("sec-websocket-version", "8") == Code::bad_request);
  CHECK(code("origin", "") == Code::forbidden);
  CHECK(code("origin", "null") == Code::forbidden);
  CHECK(code("", "", "binary.k8s.io, base64.binary.k8s.io") == Code::bad_request);
  CHECK(code("", "", "no token") == Code::bad_request);
}

TEST_CASE("event socket: a message is one frame of any length") {
  using Kind = EventSocket::Kind;
  const auto made = [](Kind kind, std::size_t size) {
    std::string out = "-";
    EventSocket::add_message(kind, std::string(size, 'm'), out);
    CHECK(out.size() - 1 - size <= EventSocket::k_most_around);
    return out.substr(0, out.size() - size);
  };
  CHECK(made(Kind::text, 0) == "-\x81\0"s);
  CHECK(made(Kind::text, 125) == "-\x81\x7d"s);
  CHECK(made(Kind::text, 126) == "-\x81\x7e\0\x7e"s);
  CHECK(made(Kind::binary, 65535) == "-\x82\x7e\xff\xff"s);
  CHECK(made(Kind::binary, 65536) == "-\x82\x7f\0\0\0\0\0\1\0\0"s);
}

TEST_CASE("event socket: pings are answered, messages are thrown away, at any slice size") {
  const auto wire = frame(0x81, "hello") + frame(0x89, "first") +
                    frame(0x01, std::string(200, 'a')) + frame(0x89, "") +
                    frame(0x80, std::string(70'000, 'b')) + frame(0x8a, "pong") +
                    frame(0x89, "last") + frame(0x82, "");
  for (const std::size_t slice : {std::size_t{1}, std::size_t{7}, wire.size()}) {
    auto socket = opened();
    for (std::size_t at = 0; at < wire.size(); at += slice)
      socket.receive(std::string_view(wire).substr(at, slice));
    CHECK_FALSE(socket.over());
    CHECK(pong(socket) == "\x8a\x04last"); // the others' were not yet sent
    CHECK(pong(socket) == "");
    socket.receive(frame(0x88, "\x03\xe8 bye") + frame(0x89, "too late"));
    CHECK(socket.over());
    CHECK(pong(socket) == "");
    CHECK(close(socket) == "\x88\x02\x03\xe8");
  }
}

TEST_CASE("event socket: who breaks the protocol is told so") {
  const std::string broken[] = {
      frame(0x81, "not masked", false),
      frame(0xc1, "compressed"),
      frame(0x83, "unknown"),
      frame(0x8b, "unknown"),
      frame(0x09, "a ping in pieces"),
      frame(0x89, std::string(126, 'p')),
      frame(0x80, "continues nothing"),
      frame(0x01, "begins") + frame(0x81, "begins again"),
      "\x82\xff\x80\0\0\0\0\0\0\0mask"s, // a length of 2^63
  };
  for (const auto& wire : broken) {
    auto socket = opened();
    socket.receive(wire);
    CHECK(socket.over());
    CHECK(close(socket) == "\x88\x02\x03\xea");
  }
}
