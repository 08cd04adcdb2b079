// SPDX-License-Identifier: Apache-2.0
#include "h2_client.hpp"
#include "script_service.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::http;
using test::Heard;
using Close = ServerCodec::Close;

namespace {

struct Bench {
  explicit Bench(Limits limits = {}, std::size_t slice = 1u << 20)
      : step(slice), codec(make_h2_codec(limits, service, info, [] {})) {}
  /// Moves bytes until both sides are quiet.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      auto wire = client.take();
      for (std::string_view left = wire; !left.empty();) {
        codec->receive(left.substr(0, step));
        left.remove_prefix(std::min(step, left.size()));
        moved = true;
      }
      std::string out;
      while (codec->produce(out, step) > 0)
        moved = true;
      for (std::string_view left = out; !left.empty();) {
        client.give(left.substr(0, step));
        left.remove_prefix(std::min(step, left.size()));
      }
    }
  }
  std::size_t step;
  test::ScriptService service;
  ConnectionInfo info;
  std::unique_ptr<ServerCodec> codec;
  test::H2Client client;
};

std::string frame(int type, int flags, unsigned stream, std::string_view payload) {
  std::string out;
  for (const int shift : {16, 8, 0})
    out += static_cast<char>(payload.size() >> shift);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0})
    out += static_cast<char>(stream >> shift);
  return out.append(payload);
}

const std::string k_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "");
// HPACK: :method GET, :scheme https, :path /, :authority h
const std::string k_block("\x82\x87\x84\x01\x01h", 6);

/// Feeds raw frames to a fresh codec; its answer and what became of it.
struct Raw {
  explicit Raw(Limits limits = {}) : codec(make_h2_codec(limits, service, info, [] {})) {}
  void feed(std::string_view wire, std::size_t slice = 1u << 20) {
    while (!wire.empty()) {
      codec->receive(wire.substr(0, slice));
      wire.remove_prefix(std::min(slice, wire.size()));
      while (codec->produce(out, 1u << 20) > 0) {
      }
    }
  }
  bool over() const { return codec->wants_close() != Close::no; }
  test::ScriptService service;
  ConnectionInfo info;
  std::unique_ptr<ServerCodec> codec;
  std::string out;
};

} // namespace

TEST_CASE("h2: requests are answered, at any slice size") {
  for (const std::size_t slice : {std::size_t{1}, std::size_t{10}, std::size_t{1} << 20}) {
    Bench bench({}, slice);
    bench.service.on_end = test::echo;
    const auto a = bench.client.request("GET", "/a");
    const auto b = bench.client.request("POST", "/b", "body");
    bench.run();
    CHECK(bench.client.answers[a].status == 200);
    CHECK(bench.client.answers[a].body == "GET /a ");
    CHECK(bench.client.answers[b].body == "POST /b body");
    CHECK(bench.client.answers[b].ended);
    CHECK(bench.client.answers[b].headers["content-type"] == "text/plain");
    CHECK(bench.codec->open_streams() == 0);
    for (const auto& each : bench.service.requests) {
      CHECK(each->destroyed);
      CHECK(each->ends == 1);
      CHECK(each->resets == 0);
      CHECK(each->head.version == 20);
      CHECK(each->head.authority == "host");
    }
  }
}

TEST_CASE("h2: HEAD and 204 carry no body; a wrong length resets") {
  Bench bench;
  bench.service.on_end = [](Heard& heard) {
    if (heard.head.target == "/204") return heard.stream->send_head({204, {}}, true);
    heard.stream->send_head({200, {{"Content-Length", "5"}}}, false);
    heard.stream->send_data(heard.head.target == "/short" ? "123" : "12345", true);
  };
  const auto head = bench.client.request("HEAD", "/");
  const auto none = bench.client.request("GET", "/204");
  const auto shorter = bench.client.request("GET", "/short");
  bench.run();
  CHECK(bench.client.answers[head].ended);
  CHECK(bench.client.answers[head].body.empty());
  CHECK(bench.client.answers[none].status == 204);
  CHECK(bench.client.answers[shorter].error == 2); // INTERNAL_ERROR
}

TEST_CASE("h2: the codec refuses by itself what is no request for anybody") {
  Limits limits;
  limits.header_bytes = 2'000;
  limits.target_bytes = 200;
  Bench bench(limits);
  const auto large = bench.client.request("GET", "/", "", {{"x", std::string(3'000, 'a')}});
  const auto longer = bench.client.request("GET", "/" + std::string(300, 'a'));
  const auto hash = bench.client.request("GET", "/a#b");
  bench.run();
  CHECK(bench.client.answers[large].status == 431);
  CHECK(bench.client.answers[longer].status == 414);
  CHECK(bench.client.answers[hash].status == 400);
  CHECK(bench.client.answers[hash].body.find("\"kind\":\"Status\"") != std::string::npos);
  CHECK(bench.service.requests.empty());
}

TEST_CASE("h2: a reader that stops leaves the producer's buffer bounded") {
  Limits limits;
  Bench bench(limits);
  bench.client.consume = false;
  const auto id = bench.client.request("GET", "/");
  bench.run();
  auto& heard = *bench.service.requests[0];
  heard.stream->send_head({200, {}}, false);
  const std::string piece(16 * 1024, 'x');
  std::size_t given = 0;
  for (int round = 0; round < 200; ++round) {
    if (heard.stream->writable()) {
      heard.stream->send_data(piece, false);
      given += piece.size();
    }
    bench.run();
  }
  // The client's window, and our buffer up to its high watermark; nothing more was taken.
  CHECK(bench.client.answers[id].body.size() == 65'535);
  CHECK(given <= 65'535 + limits.high_watermark + piece.size());
  CHECK_FALSE(heard.stream->writable());
  bench.client.consume_all(id);
  bench.client.consume = true;
  bench.run();
  CHECK(heard.drains >= 1);
  heard.stream->send_data("", true);
  bench.run();
  CHECK(bench.client.answers[id].body.size() == given);
  CHECK(bench.client.answers[id].ended);
}

TEST_CASE("h2: all buffers of a connection together are bounded") {
  Limits limits;
  limits.connection_pending = 512 * 1024;
  Bench bench(limits);
  bench.client.consume = false;
  for (int i = 0; i < 20; ++i)
    bench.client.request("GET", "/");
  bench.run();
  std::size_t given = 0;
  for (auto& heard : bench.service.requests) {
    heard->stream->send_head({200, {}}, false);
    for (int i = 0; i < 100 && heard->stream->writable(); ++i) {
      heard->stream->send_data(std::string(8 * 1024, 'x'), false);
      given += 8 * 1024;
    }
  }
  CHECK(given <= limits.connection_pending + 8 * 1024);
}

TEST_CASE("h2: a stream may have a watermark of its own, and tells what it holds") {
  Bench bench;
  bench.client.consume = false;
  const auto id = bench.client.request("GET", "/");
  bench.run();
  auto& heard = *bench.service.requests[0];
  heard.stream->set_high_watermark(8 * 1024);
  heard.stream->send_head({200, {}}, false);
  heard.stream->send_data(std::string(65'535, 'x'), false); // the client's window
  bench.run();
  CHECK(heard.stream->pending() == 0);
  CHECK(heard.drains == 1);
  heard.stream->send_data(std::string(8 * 1024 - 1, 'y'), false);
  CHECK(heard.stream->writable());
  heard.stream->give_data("y", false);
  CHECK_FALSE(heard.stream->writable());
  CHECK(heard.stream->pending() == 8 * 1024);
  bench.run();
  CHECK(heard.drains == 1);
  bench.client.consume_all(id);
  bench.run();
  CHECK(heard.drains == 2);
  CHECK(heard.stream->pending() == 0);
}

TEST_CASE("h2: a stream that is reset lets go of what it holds, and never looks whole") {
  Bench bench;
  bench.client.consume = false;
  const auto id = bench.client.request("GET", "/");
  bench.run();
  auto heard = bench.service.requests[0];
  heard->stream->send_head({200, {}}, false);
  heard->stream->send_data(std::string(200'000, 'x'), false);
  bench.run();
  CHECK(bench.codec->pending() == 200'000 - 65'535);
  heard->stream->send_data("the end", true);
  heard->stream->reset(ResetReason::aborted);
  CHECK(bench.codec->pending() == 0);
  bench.client.consume_all(id);
  bench.client.consume = true;
  bench.run();
  CHECK(heard->destroyed);
  CHECK(bench.client.answers[id].error == 2);
  CHECK_FALSE(bench.client.answers[id].ended);
  CHECK(bench.client.answers[id].body.size() == 65'535);
}

TEST_CASE("h2: no more is taken from the streams than was asked for") {
  Raw raw;
  const auto settings = frame(4, 0, 0, std::string("\x00\x04\x7f\xff\xff\xff", 6)); // windows
  raw.feed("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings +
           frame(8, 0, 0, std::string("\x7f\xfe\x00\x00", 4)));
  for (unsigned stream = 1; stream < 20; stream += 2)
    raw.feed(frame(1, 5, stream, k_block));
  for (auto& heard : raw.service.requests) {
    heard->stream->send_head({200, {}}, false);
    heard->stream->send_data(std::string(1'000'000, 'x'), false);
  }
  constexpr std::size_t k_max = 64 * 1024;
  constexpr std::size_t k_frame = 16 * 1024 + 9;
  std::size_t all = 0, rounds = 0;
  for (; all < 10'000'000 && rounds < 1'000; ++rounds) {
    const auto before = raw.codec->pending();
    std::string out;
    const auto count = raw.codec->produce(out, k_max);
    CHECK(count == out.size());
    CHECK(out.size() <= k_max + k_frame);
    CHECK(before - raw.codec->pending() <= out.size());
    all += before - raw.codec->pending();
  }
  CHECK(all == 10'000'000);
  CHECK(rounds > 100);
}

TEST_CASE("h2: a stream whose window stays shut is reset, whatever else its client does") {
  Bench bench;
  bench.client.consume = false;
  const auto shut = bench.client.request("GET", "/");
  const auto quiet = bench.client.request("GET", "/");
  bench.run();
  auto stuck = bench.service.requests[0], idle = bench.service.requests[1];
  idle->stream->send_head({200, {}}, false);
  stuck->stream->send_head({200, {}}, false);
  stuck->stream->send_data(std::string(100'000, 'x'), false);
  bench.run();
  bench.codec->reset_stalled();
  bench.codec->reset_stalled();
  bench.client.consume_all(shut);
  bench.run(); // it has moved
  stuck->stream->send_data(std::string(100'000, 'x'), false);
  bench.run();
  bench.codec->reset_stalled();
  bench.codec->reset_stalled();
  CHECK(stuck->resets == 0);
  bench.codec->reset_stalled();
  CHECK(stuck->resets == 1);
  CHECK(bench.codec->pending() == 0);
  bench.run();
  CHECK(stuck->destroyed);
  CHECK(bench.client.answers[shut].error == 2);
  CHECK_FALSE(bench.client.answers[shut].ended);
  CHECK(idle->resets == 0);
  CHECK_FALSE(bench.client.answers[quiet].closed);
}

TEST_CASE("h2: streams beyond the allowed number do not pile up resets that nobody reads") {
  Limits limits;
  limits.streams = 3;
  limits.reset_burst = 50;
  Raw raw(limits);
  raw.codec->receive(k_preface); // nothing is read of what it answers, nor acknowledged
  for (unsigned stream = 1; stream < 1'000 && raw.codec->wants_read(); stream += 2)
    raw.codec->receive(frame(1, 5, stream, k_block));
  CHECK_FALSE(raw.codec->wants_read());
  CHECK(raw.service.requests.size() == 3);
  raw.feed("");
  while (raw.codec->produce(raw.out, 1u << 20) > 0) {
  }
  CHECK(raw.over());
}

TEST_CASE("h2: refusals are counted") {
  Bench bench;
  for (const int status : {429, 401, 403, 503}) {
    bench.service.on_head = [status](Heard& heard) { heard.stream->send_head({status, {}}, true); };
    bench.client.request("GET", "/");
    bench.run();
  }
  CHECK(bench.codec->refused() == 2);
}

TEST_CASE("h2: a handler that does not consume holds its own stream only") {
  Limits limits;
  Bench bench(limits);
  bench.service.consume = false;
  const auto slow = bench.client.request("POST", "/slow", std::string(1'000'000, 'b'));
  bench.run();
  CHECK(bench.service.requests[0]->body.size() == limits.stream_window);
  bench.service.consume = true;
  bench.service.on_end = test::echo;
  const auto quick = bench.client.request("POST", "/quick", std::string(1'000'000, 'q'));
  bench.run();
  CHECK(bench.client.answers[quick].ended);
  CHECK_FALSE(bench.client.answers[slow].ended);
  bench.service.requests[0]->stream->consume(limits.stream_window);
  bench.run();
  CHECK(bench.client.answers[slow].ended);
  CHECK(bench.service.requests[0]->body.size() == 1'000'000);
}

TEST_CASE("h2: bytes that a reset stream had not consumed come back to the connection") {
  Limits limits;
  Bench bench(limits);
  bench.service.consume = false;
  for (int i = 0; i < 40; ++i) { // 40 x 256 KiB is more than the connection's 4 MiB
    const auto id = bench.client.request("POST", "/", std::string(400'000, 'b'));
    bench.run();
    CHECK(bench.service.requests.back()->body.size() == limits.stream_window);
    bench.client.reset(id);
    bench.run();
    CHECK(bench.service.requests.back()->resets == 1);
    CHECK(bench.service.requests.back()->destroyed);
  }
}

TEST_CASE("h2: an answer before the request's end arrives, and the rest of the body is read on") {
  Bench bench;
  bench.service.on_head = [](Heard& heard) {
    heard.stream->send_head({413, {}}, false);
    heard.stream->send_data("too much", true);
  };
  const auto id = bench.client.request("POST", "/", std::string(1'000'000, 'b'));
  bench.run();
  const auto& answer = bench.client.answers[id];
  CHECK(answer.status == 413);
  CHECK(answer.body == "too much");
  CHECK(answer.ended);
  CHECK(answer.closed); // by the end of the request
  CHECK(answer.error == 0);
  CHECK(bench.client.sent[id] == 1'000'000);
  CHECK(bench.codec->open_streams() == 0);
  CHECK(bench.service.requests[0]->destroyed);
  CHECK(bench.service.requests[0]->resets == 0);
}

TEST_CASE("h2: what is read on after an early answer is bounded: bytes") {
  Limits limits;
  limits.discard_bytes = 600'000;
  Bench bench(limits);
  bench.service.on_head = [](Heard& heard) { heard.stream->send_head({413, {}}, true); };
  const auto id = bench.client.request("POST", "/", std::string(5'000'000, 'b'));
  bench.run();
  CHECK(bench.client.answers[id].status == 413);
  CHECK(bench.client.answers[id].closed);
  CHECK(bench.client.answers[id].error == 0); // NO_ERROR
  CHECK(bench.client.sent[id] > limits.discard_bytes);
  CHECK(bench.client.sent[id] <= limits.discard_bytes + 2 * limits.stream_window);
  CHECK(bench.codec->open_streams() == 0);
}

TEST_CASE("h2: what is read on after an early answer is bounded: time, and the number of streams") {
  using namespace std::chrono_literals;
  Bench bench;
  bench.service.on_head = [](Heard& heard) { heard.stream->send_head({401, {}}, true); };
  std::vector<std::int32_t> ids;
  const auto start = [&](int count) {
    for (int i = 0; i < count; ++i)
      ids.push_back(bench.client.begin_request("POST", "/"));
    bench.run();
  };
  start(16);
  CHECK(bench.codec->open_streams() == 16);
  CHECK(bench.codec->waiting_for() == ServerCodec::Waiting::nothing);
  for (const auto& request : bench.service.requests)
    CHECK(request->destroyed);
  start(1);
  CHECK(bench.codec->open_streams() == 16);
  CHECK(bench.client.answers[ids[0]].closed);
  CHECK(bench.client.answers[ids[0]].error == 0);
  CHECK_FALSE(bench.client.answers[ids[1]].closed);

  const auto now = std::chrono::steady_clock::now();
  bench.codec->stop_reading_on(now);
  bench.codec->stop_reading_on(now + Limits{}.discard_time);
  bench.run();
  CHECK(bench.codec->open_streams() == 16);
  bench.codec->stop_reading_on(now + Limits{}.discard_time + 1ms);
  bench.run();
  CHECK(bench.codec->open_streams() == 0);
  for (const auto id : ids)
    CHECK(bench.client.answers[id].error == 0);

  start(1);
  CHECK(bench.codec->open_streams() == 1);
  bench.codec->drain(); // who goes waits for nobody's body
  bench.run();
  CHECK(bench.codec->open_streams() == 0);
}

TEST_CASE("h2: a client that sends on and does not read its answer is not read without end") {
  Limits limits;
  limits.discard_bytes = 600'000;
  Bench bench(limits);
  bench.client.consume = false;
  bench.service.on_head = [](Heard& heard) {
    heard.stream->send_head({413, {}}, false);
    heard.stream->send_data(std::string(200'000, 'a'), true);
  };
  const auto id = bench.client.request("POST", "/", std::string(5'000'000, 'b'));
  bench.run();
  CHECK(bench.client.sent[id] <= limits.discard_bytes + 2 * limits.stream_window);
  CHECK_FALSE(bench.client.answers[id].ended);
  bench.client.consume = true;
  bench.client.consume_all(id);
  bench.run();
  CHECK(bench.client.answers[id].ended);
  CHECK(bench.client.answers[id].closed);
  CHECK(bench.client.answers[id].error == 0);
}

TEST_CASE("h2: resets from inside, and destruction is deferred") {
  Bench bench;
  const auto id = bench.client.request("GET", "/");
  bench.run();
  auto heard = bench.service.requests[0];
  heard->stream->send_head({200, {}}, false);
  heard->stream->reset(ResetReason::aborted);
  CHECK_FALSE(heard->destroyed);
  heard->stream->send_data("ignored", true);
  bench.run();
  CHECK(heard->destroyed);
  CHECK(bench.client.answers[id].error == 2);
  CHECK_FALSE(bench.client.answers[id].ended);
}

TEST_CASE("h2: rapid resets end the connection") {
  Limits limits;
  limits.reset_burst = 50;
  limits.reset_rate = 1;
  Bench bench(limits);
  for (int i = 0; i < 200; ++i) {
    const auto id = bench.client.request("GET", "/");
    bench.run();
    bench.client.reset(id);
    bench.run();
  }
  CHECK(bench.client.goaway);
  CHECK(bench.codec->wants_close() != Close::no);
  CHECK(bench.service.requests.size() <= 60);
  bench.codec->closed();
  for (const auto& each : bench.service.requests)
    CHECK(each->destroyed);
}

TEST_CASE("h2: drain lets open requests end and takes no new ones") {
  Bench bench;
  const auto id = bench.client.request("GET", "/");
  bench.run();
  bench.codec->drain();
  bench.run();
  CHECK(bench.client.goaway);
  CHECK(bench.codec->wants_close() == Close::no);
  test::echo(*bench.service.requests[0]);
  bench.run();
  CHECK(bench.client.answers[id].ended);
  CHECK(bench.codec->wants_close() == Close::gracefully);
}

TEST_CASE("h2: leave lets streams that last end in order, and those that still come") {
  Bench bench;
  const auto end = [](test::Heard& heard) {
    if (heard.ends == 0 || heard.leavings == 0) return;
    heard.stream->send_head({200, {}}, false);
    heard.stream->send_data("BOOKMARK", true);
  };
  bench.service.on_end = end;
  bench.service.on_leaving = end;
  const auto before = bench.client.request("GET", "/");
  bench.run();
  // Sent before the client has heard of the GOAWAY: in time.
  const auto after = bench.client.request("GET", "/");
  bench.codec->leave();
  bench.run();
  bench.run();
  for (const auto id : {before, after}) {
    CAPTURE(id);
    CHECK(bench.client.answers[id].body == "BOOKMARK");
    CHECK(bench.client.answers[id].ended);
  }
  for (const auto& each : bench.service.requests)
    CHECK(each->resets == 0);
  CHECK(bench.client.goaway);
  CHECK(bench.codec->wants_close() == Close::gracefully);
}

TEST_CASE("h2: more streams than allowed are refused") {
  Limits limits;
  limits.streams = 3;
  Bench bench(limits);
  bench.run(); // the settings
  for (int i = 0; i < 5; ++i)
    bench.client.request("GET", "/");
  bench.run();
  CHECK(bench.service.requests.size() == 3);
}

TEST_CASE("h2: malformed frames end the connection, whatever the slices") {
  const std::string request = frame(1, 5, 1, k_block); // END_HEADERS | END_STREAM
  const std::pair<const char*, std::string> table[] = {
      {"no preface", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"no SETTINGS first", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + request},
      {"DATA on stream 0", k_preface + frame(0, 0, 0, "x")},
      {"HEADERS on an even stream", k_preface + frame(1, 5, 2, k_block)},
      {"SETTINGS of a wrong size", k_preface + frame(4, 0, 0, "12345")},
      {"SETTINGS on a stream", k_preface + frame(4, 0, 1, "")},
      {"PING of a wrong size", k_preface + frame(6, 0, 0, "1234567")},
      {"WINDOW_UPDATE overflow", k_preface + frame(8, 0, 0, std::string("\x7f\xff\xff\xff", 4))},
      {"WINDOW_UPDATE zero", k_preface + frame(8, 0, 0, std::string(4, '\0'))},
      {"a frame larger than allowed", k_preface + frame(0, 0, 1, std::string(20'000, 'x'))},
      {"CONTINUATION without HEADERS", k_preface + frame(9, 4, 1, k_block)},
      {"DATA inside a header block", k_preface + frame(1, 1, 1, k_block) + frame(0, 0, 1, "x")},
      {"broken HPACK", k_preface + frame(1, 5, 1, "\xff\xff\xff\xff\xff\xff\xff")},
      {"PUSH_PROMISE from a client", k_preface + frame(5, 4, 1, std::string(4, '\0'))},
      {"padding longer than the frame", k_preface + frame(1, 13, 1, "\x40\x82")},
  };
  for (const auto& [name, wire] : table) {
    for (const std::size_t slice : {std::size_t{1}, wire.size()}) {
      CAPTURE(std::string(name));
      CAPTURE(slice);
      Raw raw;
      raw.feed(wire, slice);
      CHECK(raw.over());
      raw.codec->closed();
      for (const auto& each : raw.service.requests)
        CHECK(each->destroyed);
    }
  }
  Raw down; // an id below the last one is no request
  down.feed(k_preface + frame(1, 5, 3, k_block) + request);
  CHECK(down.service.requests.size() == 1);
  Raw sane;
  sane.feed(k_preface + request, 1);
  CHECK(sane.service.requests.size() == 1);
  CHECK_FALSE(sane.over());
}

TEST_CASE("h2: malformed requests are refused one by one") {
  const auto block = [](std::string_view extra) { return k_block + std::string(extra); };
  for (const std::string& bad : {
           std::string("\x82\x87\x84", 3) + std::string("\x00\x0a"
                                                        "connection\x05"
                                                        "close",
                                                        18), // connection header
           block(std::string("\x00\x01"
                             "A\x01"
                             "b",
                             5)),               // upper case
           block(std::string("\x82", 1)),       // :method twice, late
           std::string("\x87\x84\x01\x01h", 5), // no :method
           block(std::string("\x00\x07:status\x03"
                             "200",
                             13)),
       }) {
    Raw raw;
    raw.feed(k_preface + frame(1, 5, 1, bad));
    CHECK(raw.service.requests.empty());
  }
  Raw connect; // :method CONNECT, :authority h
  connect.feed(k_preface + frame(1, 5, 1,
                                 std::string("\x02\x07"
                                             "CONNECT\x01\x01h",
                                             12)));
  CHECK(connect.service.requests.empty());
}

TEST_CASE("h2: floods of frames that bring nothing end the connection") {
  const std::string floods[] = {frame(6, 0, 0, "12345678"), frame(4, 0, 0, ""),
                                frame(2, 0, 3, std::string("\x00\x00\x00\x00\x10", 5)),
                                frame(8, 0, 0, std::string("\x00\x00\x00\x01", 4)),
                                frame(0, 0, 1, "")};
  for (const auto& flood : floods) {
    Raw raw;
    raw.feed(k_preface + frame(1, 4, 1, k_block));
    std::string many;
    for (int i = 0; i < 1'000; ++i)
      many += flood;
    for (int i = 0; i < 15 && !raw.over(); ++i)
      raw.feed(many);
    raw.codec->closed();
    CHECK(raw.over());
  }
  Raw raw; // a client that never reads: acknowledgements must not pile up
  raw.codec->receive(k_preface);
  for (int i = 0; i < 1'000 && !raw.over(); ++i)
    raw.codec->receive(frame(6, 0, 0, "12345678"));
  CHECK(raw.over());
  Raw headers; // CONTINUATION without end
  headers.feed(k_preface + frame(1, 1, 1, k_block));
  for (int i = 0; i < 100 && !headers.over(); ++i)
    headers.feed(frame(9, 0, 1,
                       std::string("\x00\x01"
                                   "a\x01"
                                   "b",
                                   5)));
  CHECK(headers.over());
}

TEST_CASE("h2: a connection that goes away resets every stream") {
  Bench bench;
  for (int i = 0; i < 5; ++i)
    bench.client.request("GET", "/");
  bench.run();
  bench.codec->closed();
  for (const auto& each : bench.service.requests) {
    CHECK(each->resets == 1);
    CHECK(each->destroyed);
  }
  CHECK(bench.codec->open_streams() == 0);
}
