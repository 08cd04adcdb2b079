// SPDX-License-Identifier: Apache-2.0
#include "script_service.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::http;
using test::Heard;
using Close = ServerCodec::Close;

namespace {

struct Bench {
  explicit Bench(Limits limits = {})
      : codec(make_h1_codec(limits, service, info, [this] { ++wakeups; })) {}
  std::string feed(std::string_view wire, std::size_t slice = 1u << 20) {
    std::string out;
    while (!wire.empty()) {
      codec->receive(wire.substr(0, slice));
      wire.remove_prefix(std::min(slice, wire.size()));
      out += output(slice);
    }
    return out;
  }
  std::string output(std::size_t most = 1u << 20) {
    std::string out;
    for (;;) {
      std::string piece;
      if (codec->produce(piece, most) == 0) return out;
      out += piece;
    }
  }
  test::ScriptService service;
  ConnectionInfo info;
  int wakeups = 0;
  std::unique_ptr<ServerCodec> codec;
};

constexpr std::string_view k_get = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
constexpr std::string_view k_upgrade =
    "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: spdy\r\n\r\n";

} // namespace

TEST_CASE("h1: pipelined requests are answered in order, at any slice size") {
  std::string first;
  for (const std::size_t slice : {std::size_t{1}, std::size_t{3}, std::size_t{1'000}}) {
    Bench bench;
    bench.service.on_end = test::echo;
    const auto out = bench.feed("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi"
                                "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                "2\r\nyo\r\n0\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n",
                                slice);
    if (first.empty()) first = out;
    CHECK(out == first);
    CHECK(bench.service.requests.size() == 3);
    CHECK(bench.codec->open_streams() == 0);
    CHECK(bench.codec->wants_close() == Close::no);
    for (const auto& each : bench.service.requests) {
      CHECK(each->destroyed);
      CHECK(each->resets == 0);
    }
  }
  CHECK(first.find("Transfer-Encoding: chunked\r\n\r\n"
                   "a\r\nPOST /a hi\r\n0\r\n\r\nHTTP/1.1 200 OK") != first.npos);
  CHECK(first.ends_with("7\r\nGET /c \r\n0\r\n\r\n"));
}

TEST_CASE("h1: the second request waits for the first answer") {
  Bench bench;
  bench.feed(std::string(k_get) + std::string(k_get));
  CHECK(bench.service.requests.size() == 1);
  bench.service.requests[0]->stream->send_head({200, {}}, true);
  CHECK(bench.output() == "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  CHECK(bench.service.requests.size() == 2);
}

TEST_CASE("h1: framing of answers") {
  Bench bench;
  bench.service.on_end = [](Heard& heard) {
    heard.stream->send_head({200,
                             {{"Content-Length", "5"},
                              {"Connection", "x"},
                              {"Keep-Alive", "1"},
                              {"Bad\r\nName", "v"},
                              {"Split", "a\r\nb: c"}}},
                            false);
    heard.stream->send_data("12345", true);
  };
  CHECK(bench.feed(k_get) == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12345");
  CHECK(bench.feed("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n") ==
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  CHECK(bench.feed("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") ==
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n12345");
  CHECK(bench.codec->wants_close() == Close::gracefully);

  Bench old;
  old.service.on_end = test::echo;
  CHECK(old.feed("GET / HTTP/1.0\r\n\r\n") ==
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nGET / ");
  CHECK(old.codec->wants_close() == Close::gracefully);
}

TEST_CASE("h1: a body that is not as long as its head said breaks the connection") {
  for (const std::string_view body : {"1234", "123456"}) {
    Bench bench;
    bench.service.on_end = [&](Heard& heard) {
      heard.stream->send_head({200, {{"Content-Length", "5"}}}, false);
      heard.stream->send_data(body, true);
    };
    bench.feed(k_get);
    CHECK(bench.codec->wants_close() == Close::abruptly);
    CHECK(bench.service.requests[0]->destroyed);
  }
}

TEST_CASE("h1: 100 Continue comes unless the answer is there already") {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n";
  Bench bench;
  bench.service.on_end = test::echo;
  CHECK(bench.feed(head) == "HTTP/1.1 100 Continue\r\n\r\n");
  CHECK(bench.codec->waiting_for() == ServerCodec::Waiting::body);
  CHECK(bench.feed("x").find("POST / x") != std::string::npos);

  Bench early;
  early.service.on_head = [](Heard& heard) { heard.stream->send_head({413, {}}, true); };
  CHECK(early.feed(head) ==
        "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  CHECK(early.codec->wants_close() == Close::gracefully);
}

TEST_CASE("h1: what the codec refuses is answered with a Status and closed") {
  Bench bench;
  const auto out = bench.feed("GET / HTTP/1.1\r\n\r\n" + std::string(k_get));
  CHECK(out.starts_with("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"));
  CHECK(out.find("\"reason\":\"BadRequest\",\"code\":400}") != out.npos);
  CHECK(bench.codec->wants_close() == Close::gracefully);
  CHECK(bench.service.requests.empty());

  Bench body; // a broken chunk: the handler is reset, the client is told
  const auto told =
      body.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
  CHECK(told.starts_with("HTTP/1.1 400"));
  CHECK(body.service.requests[0]->resets == 1);
  CHECK(body.service.requests[0]->destroyed);

  Bench late; // the same after the answer has begun
  late.service.on_head = [](Heard& heard) { heard.stream->send_head({200, {}}, false); };
  late.feed("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
  CHECK(late.codec->wants_close() == Close::abruptly);
}

TEST_CASE("h1: a reader that stops leaves the producer's buffer bounded") {
  Bench bench;
  bench.feed(k_get);
  auto& stream = *bench.service.requests[0]->stream;
  stream.send_head({200, {}}, false);
  const std::string piece(16 * 1024, 'x');
  std::size_t given = 0;
  while (stream.writable()) {
    stream.send_data(piece, false);
    given += piece.size();
    REQUIRE(given < 1u << 20);
  }
  CHECK(bench.service.requests[0]->drains == 0);
  std::string out;
  while (bench.service.requests[0]->drains == 0)
    REQUIRE(bench.codec->produce(out, 16 * 1024) > 0);
  CHECK(stream.writable());
  stream.send_data("", true);
  out += bench.output();
  CHECK(out.ends_with("0\r\n\r\n"));
}

TEST_CASE("h1: a stream may have a watermark of its own, the next one has the listener's") {
  Bench bench;
  bench.feed(k_get);
  auto* stream = bench.service.requests[0]->stream;
  stream->set_high_watermark(8 * 1024);
  stream->send_head({200, {}}, false);
  stream->send_data(std::string(8 * 1024, 'x'), false);
  CHECK_FALSE(stream->writable());
  CHECK(stream->pending() > 8 * 1024);
  std::string out;
  bench.codec->produce(out, 7 * 1024);
  CHECK(bench.service.requests[0]->drains == 1);
  CHECK(stream->writable());
  stream->send_data("", true);
  bench.output();
  bench.feed(k_get);
  stream = bench.service.requests[1]->stream;
  stream->send_head({200, {}}, false);
  stream->send_data(std::string(8 * 1024, 'x'), false);
  CHECK(stream->writable());
}

TEST_CASE("h1: a handler that does not consume stops the reading") {
  Bench bench;
  bench.service.consume = false;
  bench.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  CHECK(bench.codec->wants_read());
  bench.feed(std::string(300'000, 'b'));
  CHECK_FALSE(bench.codec->wants_read());
  CHECK(bench.codec->waiting_for() == ServerCodec::Waiting::nothing);
  bench.wakeups = 0;
  bench.service.requests[0]->stream->consume(300'000);
  CHECK(bench.codec->wants_read());
  CHECK(bench.wakeups > 0);
}

TEST_CASE("h1: a tunnel carries bytes both ways and half-closes") {
  for (const bool at_once : {true, false}) {
    for (const std::size_t slice : {std::size_t{1}, std::size_t{1'000}}) {
      Bench bench;
      const auto accept = [](Heard& heard) {
        heard.stream->send_head({101, {{"Upgrade", "spdy"}}}, false);
      };
      if (at_once) bench.service.on_head = accept;
      auto out = bench.feed(std::string(k_upgrade) + "early", slice);
      REQUIRE(bench.service.requests.size() == 1);
      auto& heard = *bench.service.requests[0];
      CHECK(heard.head.upgrade);
      if (!at_once) {
        CHECK(heard.body.empty());
        accept(heard);
        out += bench.output();
      }
      CHECK(out == "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                   "Upgrade: spdy\r\n\r\n");
      CHECK(heard.body == "early");
      CHECK(heard.ends == 1);
      heard.stream->send_data("down", false);
      CHECK(bench.output() == "down");
      bench.feed("up", slice);
      CHECK(heard.body == "earlyup");
      bench.codec->receive_end();
      CHECK(heard.ends == 2);
      CHECK(bench.codec->wants_close() == Close::no);
      heard.stream->send_data("last", true);
      CHECK(bench.output() == "last");
      CHECK(bench.codec->wants_close() == Close::gracefully);
      CHECK(heard.destroyed);
      CHECK(heard.resets == 0);
    }
  }
}

TEST_CASE("h1: the server may half-close a tunnel first, or refuse the upgrade") {
  Bench bench;
  bench.service.on_head = [](Heard& heard) { heard.stream->send_head({101, {}}, false); };
  bench.feed(k_upgrade);
  bench.service.requests[0]->stream->send_data("", true);
  CHECK(bench.codec->write_ended());
  bench.feed("more");
  CHECK(bench.service.requests[0]->body == "more");
  bench.codec->receive_end();
  bench.output();
  CHECK(bench.codec->wants_close() == Close::gracefully);

  Bench refused;
  refused.service.on_end = [](Heard& heard) { heard.stream->send_head({403, {}}, true); };
  CHECK(refused.feed(std::string(k_upgrade) + std::string(k_upgrade)).size() > 60);
  CHECK(refused.service.requests.size() == 2);

  Bench unasked; // 101 without an upgrade
  unasked.service.on_head = bench.service.on_head;
  unasked.feed(k_get);
  CHECK(unasked.codec->wants_close() == Close::abruptly);
}

TEST_CASE("h1: a client that goes away resets, one that is answered does not") {
  Bench bench;
  bench.feed(k_get);
  bench.codec->receive_end();
  CHECK(bench.service.requests[0]->resets == 1);
  CHECK(bench.service.requests[0]->destroyed);
  CHECK(bench.codec->wants_close() == Close::gracefully);

  Bench gone;
  gone.feed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  gone.codec->closed();
  CHECK(gone.service.requests[0]->resets == 1);
  CHECK(gone.codec->open_streams() == 0);

  Bench answered;
  answered.service.on_end = test::echo;
  answered.codec->receive(k_get);
  answered.codec->receive_end();
  CHECK(answered.output().ends_with("0\r\n\r\n"));
  CHECK(answered.codec->wants_close() == Close::gracefully);
  CHECK(answered.service.requests[0]->resets == 0);
}

TEST_CASE("h1: a handler is never destroyed inside a call of its own stream") {
  Bench bench;
  bench.feed(k_get);
  auto heard = bench.service.requests[0];
  heard->stream->reset(ResetReason::aborted);
  CHECK_FALSE(heard->destroyed);
  heard->stream->send_data("ignored", true);
  CHECK(bench.output().empty());
  CHECK(heard->destroyed);
  CHECK(heard->resets == 0);
  CHECK(bench.codec->wants_close() == Close::abruptly);
}

TEST_CASE("h1: drain lets busy connections close after their answer, and leave idle ones at once") {
  Bench idle;
  idle.service.on_end = test::echo;
  CHECK(idle.feed(k_get).find("Connection: close") == std::string::npos);
  idle.codec->drain();
  CHECK(idle.codec->wants_close() == Close::no); // its client may be asking already
  CHECK(idle.feed(k_get).find("Connection: close\r\n") != std::string::npos);
  CHECK(idle.codec->wants_close() == Close::gracefully);

  Bench silent;
  silent.service.on_end = test::echo;
  silent.feed(k_get);
  silent.codec->leave();
  CHECK(silent.codec->wants_close() == Close::gracefully);

  Bench busy;
  busy.feed(k_get);
  busy.codec->drain();
  CHECK(busy.codec->wants_close() == Close::no);
  test::echo(*busy.service.requests[0]);
  CHECK(busy.output().find("Connection: close\r\n") != std::string::npos);
  CHECK(busy.codec->wants_close() == Close::gracefully);
}

TEST_CASE("h1: a stream that lasts is told to leave, and ends with its last chunk") {
  for (const bool late : {false, true}) { // told before it began, too
    CAPTURE(late);
    Bench bench;
    bench.service.on_end = [](test::Heard& heard) { heard.stream->send_head({200, {}}, false); };
    bench.service.on_leaving = [](test::Heard& heard) {
      if (heard.ends == 0) return;
      heard.stream->send_data("BOOKMARK", true);
    };
    if (!late) bench.feed(k_get);
    if (late) bench.feed("GET / HTTP/1.1\r\n");
    bench.codec->leave();
    if (late) {
      CHECK(bench.codec->wants_close() == Close::no);
      bench.feed("Host: h\r\n\r\n");
      CHECK(bench.service.requests[0]->leavings == 1);
      bench.codec->leave();
    }
    CHECK(bench.output().ends_with("8\r\nBOOKMARK\r\n0\r\n\r\n"));
    CHECK(bench.codec->wants_close() == Close::gracefully);
    CHECK(bench.service.requests[0]->resets == 0);
  }
}

TEST_CASE("h1: clocks know what the client owes") {
  Bench bench;
  CHECK(bench.codec->waiting_for() == ServerCodec::Waiting::head);
  bench.service.on_end = test::echo;
  bench.feed(k_get);
  CHECK(bench.codec->waiting_for() == ServerCodec::Waiting::nothing);
  bench.feed("GET");
  CHECK(bench.codec->waiting_for() == ServerCodec::Waiting::head);
}
