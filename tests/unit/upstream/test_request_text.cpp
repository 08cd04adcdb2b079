// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/request_text.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::upstream;

namespace {

std::shared_ptr<const http::FieldLines> authorization(const char* value) {
  return std::make_shared<const http::FieldLines>(
      http::FieldLines::make({{"Authorization", value}}).value());
}

} // namespace

TEST_CASE("the pool sets what the request lacks, and framing always") {
  UpstreamEndpoint endpoint;
  endpoint.host = "::1";
  endpoint.port = 6443;
  endpoint.user_agent = "zood/test";
  endpoint.authorization.store(authorization("Bearer t"));
  http::RequestHead head;
  head.method = "GET";
  head.target = "/api?x=1";
  head.headers = {{"Accept", "a"},
                  {"Connection", "close"},
                  {"Content-Length", "7"},
                  {"Transfer-Encoding", "chunked"},
                  {"Accept-Encoding", "br"}};
  CHECK(*request_text(head, {}, endpoint) ==
        "GET /api?x=1 HTTP/1.1\r\nHost: [::1]:6443\r\nAuthorization: Bearer t\r\n"
        "User-Agent: zood/test\r\nAccept: a\r\nAccept-Encoding: identity\r\n\r\n");
  CallOptions long_answer;
  long_answer.encoding = CallOptions::Encoding::gzip;
  CHECK(request_text(head, long_answer, endpoint)->ends_with("Accept-Encoding: gzip\r\n\r\n"));
  head.method = "POST";
  head.headers = {{"authorization", "Bearer mine"},
                  {"user-agent", "me"},
                  {"host", "h"},
                  {"Accept-Encoding", "br"}};
  CHECK(*request_text(head, {"body", false, false, CallOptions::Encoding::own}, endpoint) ==
        "POST /api?x=1 HTTP/1.1\r\nauthorization: Bearer mine\r\nuser-agent: me\r\nhost: h\r\n"
        "Accept-Encoding: br\r\nContent-Length: 4\r\n\r\n");
  head.headers = {{"Upgrade", "SPDY/3.1"}, {"host", "h"}, {"User-Agent", "u"}};
  CHECK(*request_text(head, {"", true, true}, endpoint) ==
        "POST /api?x=1 HTTP/1.1\r\nAuthorization: Bearer t\r\nhost: h\r\nUser-Agent: u\r\n"
        "Accept-Encoding: identity\r\nContent-Length: 0\r\nConnection: Upgrade\r\n"
        "Upgrade: SPDY/3.1\r\n\r\n");
}

TEST_CASE("what was prepared goes with the request as it is, beside zood's own credential") {
  UpstreamEndpoint endpoint;
  endpoint.host = "h";
  endpoint.user_agent = "zood/test";
  endpoint.authorization.store(authorization("Bearer t"));
  http::RequestHead head;
  head.method = "GET";
  head.target = "/";
  head.headers = {{"Accept", "a"}};
  head.prepared = std::make_shared<const http::FieldLines>(
      http::FieldLines::make({{"Impersonate-User", "zoo:foofoo"}}).value());
  const auto copy = head; // as whoever asks page by page has it
  for (const auto& each : {head, copy})
    CHECK(*request_text(each, {}, endpoint) ==
          "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\nUser-Agent: zood/test\r\n"
          "Impersonate-User: zoo:foofoo\r\nAccept: a\r\nAccept-Encoding: identity\r\n\r\n");
}

TEST_CASE("nothing that could end a line early leaves") {
  UpstreamEndpoint endpoint;
  endpoint.host = "h";
  const auto code = [&](http::RequestHead head) {
    const auto text = request_text(head, {}, endpoint);
    return text ? Code::internal : text.error().code();
  };
  http::RequestHead good;
  good.method = "GET";
  good.target = "/";
  CHECK(request_text(good, {}, endpoint));
  auto bad = good;
  bad.target = "/a b";
  CHECK(code(bad) == Code::bad_request);
  bad.target = "/\r\nX: y";
  CHECK(code(bad) == Code::bad_request);
  bad = good;
  bad.method = "GET / HTTP/1.1\r\n";
  CHECK(code(bad) == Code::bad_request);
  bad = good;
  bad.headers.add("a", "b\r\nc: d");
  CHECK(code(bad) == Code::bad_request);
  bad = good;
  bad.headers.add("a\n", "b");
  CHECK(code(bad) == Code::bad_request);
}
