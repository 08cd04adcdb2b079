// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/port_frames.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace zoo::relay;
using Event = PortFrames::Event;

namespace {

std::uint32_t no_mask() { return 0; }
std::uint32_t some_mask() { return 0x04030201; }

std::string frame(unsigned first, std::string_view payload) {
  std::string out(1, static_cast<char>(first));
  if (payload.size() < 126) {
    out += static_cast<char>(payload.size());
  } else {
    out += static_cast<char>(126);
    out += static_cast<char>(payload.size() >> 8);
    out += static_cast<char>(payload.size() & 0xff);
  }
  return out.append(payload);
}

std::string message(char channel, std::string_view bytes) {
  return frame(0x82, std::string(1, channel).append(bytes));
}

const std::string k_ports = message('\0', "\xfb\x20") + message('\1', "\xfb\x20");

struct Read {
  std::string data;
  Event last = Event::need_more;
};

Read read(PortFrames& frames, std::string_view input, std::size_t slice) {
  Read out;
  while (!input.empty() && out.last == Event::need_more) {
    auto piece = input.substr(0, slice);
    input.remove_prefix(piece.size());
    for (;;) {
      const auto event = frames.next(piece);
      if (event == Event::data) {
        out.data += frames.data();
        continue;
      }
      out.last = event;
      break;
    }
  }
  return out;
}

} // namespace

TEST_CASE("what a port says is told without its channel and port, however it is cut") {
  const auto input = k_ports + message('\0', "hello ") + frame(0x89, "ping") +
                     frame(0x02, std::string("\0wor", 4)) + frame(0x80, "ld") +
                     message('\0', std::string(300, 'x'));
  for (const std::size_t slice : {std::size_t{1}, std::size_t{3}, input.size()}) {
    PortFrames frames;
    const auto got = read(frames, input, slice);
    CHECK(got.last == Event::need_more);
    CHECK(got.data == "hello world" + std::string(300, 'x'));
    std::string pong;
    frames.add_pong(no_mask, pong);
    CHECK(pong == std::string("\x8a\x84\0\0\0\0ping", 10));
  }
}

TEST_CASE("what went wrong with a port is told in the kubelet's words") {
  PortFrames frames;
  CHECK(read(frames, k_ports + message('\1', "connection refused"), 4).last == Event::refused);
  CHECK(frames.words() == "connection refused");
}

TEST_CASE("the other end may close, and may break the protocol") {
  const auto last = [](const std::string& input) {
    PortFrames frames;
    return read(frames, input, 1).last;
  };
  CHECK(last(k_ports + frame(0x88, "\x03\xe8")) == Event::ended);
  CHECK(last(message('\2', "a third channel")) == Event::broken);
  CHECK(last(frame(0x80, "a continuation of nothing")) == Event::broken);
  CHECK(last(frame(0x83, "an unknown opcode")) == Event::broken);
  CHECK(last(frame(0xc2, "a reserved bit")) == Event::broken);
  CHECK(last(std::string("\x82\x81\0\0\0\0\0", 7)) == Event::broken); // masked, by a server
  CHECK(last(frame(0x89, std::string(126, 'x'))) == Event::broken);
}

TEST_CASE("bytes to a port are masked, in frames of 32 KiB at most") {
  std::string out;
  PortFrames::add("abc", some_mask, out);
  CHECK(out == std::string("\x82\x84\x01\x02\x03\x04\x01\x63\x61\x67", 10));
  out.clear();
  PortFrames::add(std::string(PortFrames::k_frame + 1, 'x'), no_mask, out);
  const std::string head("\x82\xfe\x80\x01\0\0\0\0\0", 9);
  CHECK(out.substr(0, head.size()) == head);
  CHECK(out.substr(head.size() + PortFrames::k_frame) == std::string("\x82\x82\0\0\0\0\0x", 8));
}
