// SPDX-License-Identifier: Apache-2.0
#include "common/http_client/client.hpp"
#include "common/http_client/transfer.hpp"
#include "tests/unit/base/temporary_directory.hpp"
#include "tests/unit/http_client/scripted_server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <future>

using namespace zoo;
using namespace zoo::http_client;
using namespace std::chrono_literals;
using test::answer;
using test::Answers;
using test::Connection;
using test::ScriptedServer;

namespace {

Request get(const std::string& url) {
  Request out;
  out.url = url;
  return out;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Error error_of(const Request& request, Credentials credentials = {}) {
  auto result = Client(std::move(credentials)).perform(request);
  REQUIRE_FALSE(result);
  return result.error();
}

} // namespace

TEST_CASE("an answer comes back with status, headers and body") {
  Answers script({answer("hallo", "200 OK", "X-One:  a b \r\nx-two:\r\n")});
  const ScriptedServer server(std::ref(script));
  const auto response = Client({}).perform(get(server.url("/path?q=1"))).value();
  CHECK(response.status == 200);
  CHECK(response.body == "hallo");
  CHECK(response.header("x-ONE") == "a b");
  CHECK(response.header("X-Two").empty());
  CHECK(script.requests().at(0).starts_with("GET /path?q=1 HTTP/1.1\r\n"));
}

TEST_CASE("an HTTP error is an answer, and a redirect is not followed") {
  Answers script({answer("no", "404 Not Found"),
                  answer("", "302 Found", "Location: http://127.0.0.1:1/\r\n")});
  const ScriptedServer server(std::ref(script));
  Client client({});
  CHECK(client.perform(get(server.url()))->status == 404);
  CHECK(client.perform(get(server.url()))->status == 302);
}

TEST_CASE("connections are kept alive") {
  Answers script({answer("a")});
  const ScriptedServer server(std::ref(script));
  Client client({});
  for (int i = 0; i < 5; ++i)
    CHECK(client.perform(get(server.url()))->body == "a");
  CHECK(server.accepted() == 1);
}

TEST_CASE("what must not happen twice is sent once, on a connection of its own") {
  for (const std::string method : {"POST", "PUT", "PATCH"}) {
    CAPTURE(method);
    // The second request is read, and the connection ends without an answer.
    std::atomic<int> seen = 0;
    const ScriptedServer server([&](Connection& connection) {
      while (!connection.read_request().empty()) {
        if (++seen > 1) return;
        connection.write(answer("first"));
      }
    });
    Client client({});
    auto request = get(server.url());
    request.method = method;
    REQUIRE(client.perform(request)->body == "first");
    const auto response = client.perform(request);
    REQUIRE_FALSE(response);
    CHECK(response.error().code() == Code::unavailable);
    CHECK(seen == 2);
  }
}

TEST_CASE("every method sends what belongs to it") {
  Answers script({answer("")});
  const ScriptedServer server(std::ref(script));
  for (const auto* method : {"GET", "POST", "PUT", "PATCH", "DELETE"}) {
    for (const auto* body : {"", "some bytes"}) {
      auto request = get(server.url());
      request.method = method;
      request.body = body;
      request.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
      // The server serves one connection at a time: a kept one would hold up that of a POST.
      CHECK(Client({}).perform(request));
      const auto seen = script.requests().back();
      CHECK(seen.starts_with(std::string(method) + " / HTTP/1.1\r\n"));
      CHECK(seen.ends_with(std::string("\r\n\r\n") + body));
      CHECK(contains(seen, "Content-Type: application/json\r\n"));
      CHECK(contains(seen, "X-Empty:"));
      CHECK_FALSE(contains(seen, "Expect"));
      CHECK_FALSE(contains(seen, "urlencoded"));
    }
  }
}

TEST_CASE("a token goes with the request unless it names its own") {
  Answers script({answer("")});
  const ScriptedServer server(std::ref(script));
  Credentials credentials;
  credentials.bearer_token = Secret::copy_of("tok-en\n");
  Client client(std::move(credentials));
  CHECK(client.perform(get(server.url())));
  CHECK(contains(script.requests().back(), "Authorization: Bearer tok-en\r\n"));
  auto own = get(server.url());
  own.headers = {{"authorization", "Bearer other"}};
  CHECK(client.perform(own));
  CHECK(contains(script.requests().back(), "Bearer other"));
  CHECK_FALSE(contains(script.requests().back(), "tok-en"));
}

TEST_CASE("a Unix socket is reached, and one where nobody answers is named") {
  const test::TemporaryDirectory temporary;
  const auto path = (temporary.path() / "zood.sock").string();
  auto request = get("http://localhost/x");
  request.unix_socket = path;
  CHECK(error_of(request).code() == Code::unavailable);
  CHECK(contains(error_of(request).message(), path));
  Answers script({answer("socket")});
  const ScriptedServer server(std::ref(script), path);
  CHECK(Client({}).perform(request)->body == "socket");
}

TEST_CASE("a proxy of the environment is not asked for loopback") {
  Answers script({answer("direct")});
  const ScriptedServer server(std::ref(script));
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
  const auto response = Client({}).perform(get(server.url()));
  ::unsetenv("http_proxy");
  ::unsetenv("ALL_PROXY");
  REQUIRE(response);
  CHECK(response->body == "direct");
}

TEST_CASE("a proxy of the environment is not asked where the credentials say so") {
  Answers script({answer("direct")});
  const ScriptedServer server(std::ref(script));
  auto request = get(server.url());
  // This machine, by an address that is no loopback's.
  request.url.replace(request.url.find("127.0.0.1"), 9, "0.0.0.0");
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  const auto asked = Client({}).perform(request);
  Credentials credentials;
  credentials.direct = true;
  const auto direct = Client(credentials.clone()).perform(request);
  ::unsetenv("http_proxy");
  CHECK_FALSE(asked);
  REQUIRE(direct);
  CHECK(direct->body == "direct");
}

TEST_CASE("nobody listening is Unavailable, with the URL but not its query") {
  std::string url;
  {
    const ScriptedServer gone([](Connection&) {});
    url = gone.url("/secret?token=hidden");
  }
  const auto error = error_of(get(url));
  CHECK(error.code() == Code::unavailable);
  CHECK(contains(error.message(), "/secret"));
  CHECK(contains(error.message(), "is the server running"));
  CHECK_FALSE(contains(error.message(), "hidden"));
}

TEST_CASE("silence ends with Timeout") {
  const ScriptedServer server([](Connection& connection) {
    (void)connection.read_request();
    (void)connection.read_some(); // until the client goes
  });
  auto request = get(server.url());
  request.timeout = 100ms;
  CHECK(error_of(request).code() == Code::timeout);
  CHECK(contains(error_of(request).message(), "0.1 s"));
  auto idle = get(server.url());
  idle.idle_timeout = 100ms;
  CHECK(error_of(idle).code() == Code::timeout);
}

TEST_CASE("broken answers are Unavailable, never a short body") {
  for (const auto* bytes :
       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "garbage\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1", ""}) {
    CAPTURE(bytes);
    const ScriptedServer server([&](Connection& connection) {
      if (!connection.read_request().empty()) connection.write(bytes);
    });
    CHECK(error_of(get(server.url())).code() == Code::unavailable);
  }
}

TEST_CASE("an answer above the limit is refused, one at the limit is not") {
  Answers script({answer(std::string(1000, 'x'))});
  const ScriptedServer server(std::ref(script));
  auto request = get(server.url());
  request.max_body = 999;
  CHECK(error_of(request).code() == Code::too_large);
  request.max_body = 1000;
  CHECK(Client({}).perform(request)->body.size() == 1000);
}

TEST_CASE("an endless head is refused") {
  const ScriptedServer server([](Connection& connection) {
    (void)connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\n");
    while (connection.write("X-A: " + std::string(1000, 'a') + "\r\n"))
      continue;
  });
  const auto code = error_of(get(server.url())).code();
  CHECK((code == Code::too_large || code == Code::unavailable));
}

TEST_CASE("headers and methods cannot end a line") {
  auto request = get("http://127.0.0.1:1/");
  request.headers = {{"X-A", "b\r\nX-Evil: 1"}};
  CHECK(error_of(request).code() == Code::usage);
  request.headers = {{"X A", "b"}};
  CHECK(error_of(request).code() == Code::usage);
  request.headers.clear();
  request.method = "GET / HTTP/1.1\r\nX: y";
  CHECK(error_of(request).code() == Code::usage);
}

TEST_CASE("URLs that are none, or carry credentials, are refused without showing them") {
  for (const auto* url : {"", "ftp://127.0.0.1/", "file:///etc/passwd", "http://",
                          "::", "http://user:geheim@127.0.0.1/"}) {
    CAPTURE(url);
    const auto error = error_of(get(url));
    CHECK(error.code() == Code::usage);
    CHECK_FALSE(contains(error.message(), "geheim"));
  }
  CHECK(display_url("https://u:p@host:1/a?b#c") == "https://host:1/a");
  CHECK(display_url("https://host/a@b") == "https://host/a@b");
}

TEST_CASE("loopback is told from what only looks like it") {
  for (const auto* host : {"localhost", "a.LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"})
    CHECK(is_loopback(host));
  for (const auto* host : {"127.evil.com", "localhost.com", "128.0.0.1", "::2", ""})
    CHECK_FALSE(is_loopback(host));
}

TEST_CASE("a stream hands over bytes as they come") {
  std::promise<void> first_seen;
  const ScriptedServer server([&](Connection& connection) {
    (void)connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    first_seen.get_future().wait();
    connection.write("6\r\nsecond\r\n0\r\n\r\n");
  });
  std::string body;
  const auto response = Client({}).stream(get(server.url()), [&](std::string_view bytes) {
    if (body.empty()) first_seen.set_value();
    body += bytes;
    return true;
  });
  REQUIRE(response);
  CHECK(response->status == 200);
  CHECK(response->body.empty());
  CHECK(body == "firstsecond");
}

TEST_CASE("a stream's error answer comes back whole") {
  Answers script({answer("why not", "403 Forbidden")});
  const ScriptedServer server(std::ref(script));
  bool called = false;
  const auto response = Client({}).stream(get(server.url()), [&](std::string_view) {
    called = true;
    return true;
  });
  CHECK(response->status == 403);
  CHECK(response->body == "why not");
  CHECK_FALSE(called);
}

TEST_CASE("a stream ends by false, by a stop from another thread, and by silence") {
  const ScriptedServer server([](Connection& connection) {
    (void)connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
    (void)connection.read_some();
  });
  CHECK(Client({}).stream(get(server.url()), [](std::string_view) { return false; })->status ==
        200);
  std::stop_source source;
  std::thread stopper;
  auto endless = get(server.url());
  endless.stop = source.get_token();
  const auto stopped = Client({}).stream(endless, [&](std::string_view) {
    stopper = std::thread([&] { source.request_stop(); });
    return true;
  });
  stopper.join();
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code() == Code::cancelled);
  auto quiet = get(server.url());
  quiet.timeout = 50ms; // does not count once the head is there
  quiet.idle_timeout = 300ms;
  const auto silent = Client({}).stream(quiet, [](std::string_view) { return true; });
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code() == Code::timeout);
}

TEST_CASE("a stream whose end is missing is an error, and one that throws is contained") {
  const ScriptedServer server([](Connection& connection) {
    (void)connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
  });
  const auto cut = Client({}).stream(get(server.url()), [](std::string_view) { return true; });
  REQUIRE_FALSE(cut);
  CHECK(cut.error().code() == Code::unavailable);
  const auto thrown = Client({}).stream(
      get(server.url()), [](std::string_view) -> bool { throw std::runtime_error("oops"); });
  REQUIRE_FALSE(thrown);
  CHECK(thrown.error().code() == Code::internal);
}
