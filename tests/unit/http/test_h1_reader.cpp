// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/h1_reader.hpp"

#include <doctest/doctest.h>

#include <tuple>

using namespace zoo::http;

namespace {

struct Outcome {
  std::string text; ///< "method target authority version|headers|body|end" or "failed STATUS"
  bool operator==(const Outcome&) const = default;
};

/// Reads `wire` in slices; the outcome must not depend on their size.
std::string read_requests(std::string_view wire, std::size_t slice, ReaderLimits limits = {}) {
  RequestReader reader(limits);
  std::string out;
  while (!wire.empty()) {
    auto piece = wire.substr(0, slice);
    wire.remove_prefix(piece.size());
    for (bool more = true; more;) {
      switch (reader.next(piece)) {
      case ReadEvent::need_more:
        more = false;
        break;
      case ReadEvent::head: {
        const auto head = reader.take_head();
        out += head.method + " " + head.target + " @" + head.authority +
               (head.upgrade ? " upgrade" : "") + (reader.extra().keep_alive ? "" : " close") +
               "\n";
        for (const auto& [name, value] : head.headers)
          out.append(name).append("=").append(value).append("\n");
        break;
      }
      case ReadEvent::data:
        out += reader.data();
        break;
      case ReadEvent::end:
        out += "|end\n";
        reader.start_next();
        more = !piece.empty();
        break;
      case ReadEvent::failed:
        return out + "failed " + std::to_string(reader.failure().status);
      }
    }
  }
  return out;
}

std::string read_response(std::string_view wire, std::size_t slice, bool head_request = false) {
  ResponseReader reader(ReaderLimits{1'024, 0, 32});
  reader.start_next(head_request);
  std::string out;
  while (!wire.empty()) {
    auto piece = wire.substr(0, slice);
    wire.remove_prefix(piece.size());
    for (bool more = true; more;) {
      switch (reader.next(piece)) {
      case ReadEvent::need_more:
        more = false;
        break;
      case ReadEvent::head: {
        const auto head = reader.take_head();
        out += std::to_string(head.status) + "\n";
        for (const auto& [name, value] : head.headers)
          out.append(name).append("=").append(value).append("\n");
        break;
      }
      case ReadEvent::data:
        out += reader.data();
        break;
      case ReadEvent::end:
        return out + (reader.keep_alive() ? "|end" : "|end close");
      case ReadEvent::failed:
        return out + "failed";
      }
    }
  }
  return out + (reader.complete_at_close() ? "|until close" : "|unfinished");
}

void check_request(const std::string& wire, const std::string& expected) {
  for (const std::size_t slice : {std::size_t{1}, std::size_t{2}, std::size_t{7}, wire.size()}) {
    CAPTURE(wire);
    CAPTURE(slice);
    CHECK(read_requests(wire, slice) == expected);
  }
}

void check_response(const std::string& wire, const std::string& expected, bool head = false) {
  for (const std::size_t slice : {std::size_t{1}, std::size_t{2}, std::size_t{7}, wire.size()}) {
    CAPTURE(wire);
    CAPTURE(slice);
    CHECK(read_response(wire, slice, head) == expected);
  }
}

std::string get(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

} // namespace

TEST_CASE("requests are read, whatever the slices") {
  check_request(get(""), "GET / @h\n|end\n");
  check_request("\r\n" + get("A:  b \t\r\n"), "GET / @h\nA=b\n|end\n");
  check_request("POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz" + get(""),
                "POST /a?b @h\nContent-Length=3\nxyz|end\nGET / @h\n|end\n");
  check_request("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nT: r\r\n\r\n",
                "POST / @h\nabc0123456789|end\n");
  check_request("GET http://other:1/p HTTP/1.1\r\nHost: h\r\n\r\n", "GET /p @other:1\n|end\n");
  check_request("GET https://other?q HTTP/1.1\r\nHost: h\r\n\r\n", "GET /?q @other\n|end\n");
  check_request("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * @h\n|end\n");
  check_request("GET / HTTP/1.0\r\n\r\n", "GET / @ close\n|end\n");
  check_request(get("Connection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\n"),
                "GET / @h close\n|end\n");
  check_request(get("Connection: keep-alive, Upgrade\r\nUpgrade: SPDY/3.1\r\n"),
                "GET / @h upgrade\nConnection=Upgrade\nUpgrade=SPDY/3.1\n|end\n");
  check_request(get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: A\r\n"),
                "GET / @h\n|end\n");
}

TEST_CASE("what two parsers could read differently is refused") {
  const std::pair<std::string, int> table[] = {
      {get("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
      {get("Content-Length: 1\r\nContent-Length: 1\r\n"), 400},
      {get("Content-Length: 1\r\nContent-Length: 2\r\n"), 400},
      {get("Content-Length: 1, 1\r\n"), 400},
      {get("Content-Length: +1\r\n"), 400},
      {get("Content-Length: -1\r\n"), 400},
      {get("Content-Length: 0x1\r\n"), 400},
      {get("Content-Length:\r\n"), 400},
      {get("Content-Length: 99999999999999999999\r\n"), 400},
      {get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400},
      {get("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {get("Transfer-Encoding: \x0b"
           "chunked\r\n"),
       400},
      {get("Transfer-Encoding: identity\r\n"), 501},
      {get("A: b\r\n folded\r\n"), 400},
      {get(" A: b\r\n"), 400},
      {get("A : b\r\n"), 400},
      {get("A\r\n"), 400},
      {get(": b\r\n"), 400},
      {get("A(: b\r\n"), 400},
      {get("A: b\x01\r\n"), 400},
      {get("A: b\rc\r\n"), 400},
      {get("A: b\nC: d\r\n"), 400},
      {get(std::string("A: b\0c\r\n", 8)), 400},
      {get("Host: h\r\n"), 400},
      {get("Host: other\r\n"), 400},
      {get("Expect: 200-maybe\r\n"), 417},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\n", 400},
      {"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
      {"GET / http/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
      {"PRI * HTTP/2.0\r\n\r\n", 505},
      {"G@T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET ftp://a/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET http://u@a/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 405},
      {"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"\r\n\r\n", 400},
      {std::string("GET /\0 HTTP/1.1\r\n", 17), 400},
  };
  for (const auto& [wire, status] : table)
    check_request(wire, "failed " + std::to_string(status));
}

TEST_CASE("broken chunks are refused") {
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string chunk :
       {"x\r\n", "\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", "1 \r\n", "1\nx", "FFFFFFFFFFFFFFFFF\r\n",
        "1;a\x01\r\n", "0\r\nbad trailer\r\n\r\n"}) {
    CAPTURE(chunk);
    check_request(head + chunk, "POST / @h\nfailed 400");
  }
  check_request(head + "1\r\nxy\r\n", "POST / @h\nxfailed 400");
  check_request(head + "1\r\nx\n0\r\n\r\n", "POST / @h\nxfailed 400");
  check_request(head + "1;" + std::string(300, 'e') + "\r\nx", "POST / @h\nfailed 400");
}

TEST_CASE("a head beyond the limits is refused before it is complete") {
  const ReaderLimits limits{1'000, 100, 5};
  for (const std::size_t slice : {1u, 5'000u}) {
    CHECK(read_requests("GET /" + std::string(200, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", slice,
                        limits)
              .ends_with("failed 414"));
    CHECK(read_requests("GET /" + std::string(5'000, 'a'), slice, limits).ends_with("failed 414"));
    CHECK(
        read_requests(get("A: " + std::string(2'000, 'a')), slice, limits).ends_with("failed 431"));
    CHECK(read_requests(get("A: 1\r\nA: 2\r\nA: 3\r\nA: 4\r\nA: 5\r\n"), slice, limits)
              .ends_with("failed 431"));
  }
}

TEST_CASE("answers are read, whatever the slices") {
  check_response("HTTP/1.1 200 " + std::string(900, 'a') + "\r\nContent-Length: 0\r\n\r\n",
                 "200\nContent-Length=0\n|end"); // longer than a request's line may be
  check_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\nhi",
                 "200\nContent-Length=2\nA=b\nhi|end");
  check_response("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
                 "200\nx|end");
  check_response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nL: 1\r\n\r\n"
                 "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n",
                 "204\n|end");
  check_response("HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", "304\nContent-Length=5\n|end");
  check_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "200\nContent-Length=5\n|end",
                 true);
  check_response("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                 "200\nContent-Length=0\n|end close");
  check_response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
                 "200\nContent-Length=0\n|end close");
  check_response("HTTP/1.1 200 OK\r\n\r\nabc", "200\nabc|until close");
  check_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
                 "200\nContent-Length=5\nabc|unfinished");
  check_response("HTTP/1.1 101 Up\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nraw",
                 "101\nConnection=Upgrade\nUpgrade=x\nraw|until close");
}

TEST_CASE("garbage is not an answer") {
  for (const std::string wire :
       {"SSH-2.0-x\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1 200 OK\nA: b\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"})
    check_response(wire, "failed");
  check_response("HTTP/1.1 200 OK\r\nA: " + std::string(2'000, 'x'), "failed");
  std::string interim;
  for (int i = 0; i < 20; ++i)
    interim += "HTTP/1.1 100 Continue\r\n\r\n";
  check_response(interim, "failed");
}
