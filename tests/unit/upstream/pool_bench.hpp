// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/workers.hpp"
#include "daemon/upstream/pool.hpp"
#include "scripted_server.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// A pool in front of a scripted server, for its unit tests.
namespace zoo::upstream::pool_test {

using Server = zoo::test::ScriptedServer;
using Connection = Server::Connection;

/// One call and what it heard; all of it on the loop's thread, wait() on the test's.
class Asked : public CallHandler {
public:
  int status = 0;
  http::Headers headers;
  std::string body;
  bool ended = false;
  std::optional<Error> error;
  int drains = 0;
  std::unique_ptr<Call> call;
  std::function<void(Asked&)> at_head = [](Asked&) {};
  std::function<void(Asked&)> at_data = [](Asked&) {};
  std::function<void(Asked&)> at_end = [](Asked&) {};

  void on_head(http::ResponseHead head) override {
    status = head.status;
    headers = std::move(head.headers);
    at_head(*this);
  }
  void on_data(std::string_view bytes) override {
    body += bytes;
    at_data(*this);
  }
  void on_end() override {
    ended = true;
    at_end(*this);
    done.set_value();
  }
  void on_error(Error what) override {
    error = std::move(what);
    done.set_value();
  }
  void on_drained() override { ++drains; }
  std::promise<void> done;
};

struct Bench {
  Bench(Server::Script script, bool tls = false, PoolLimits limits = {})
      : server(tls ? pki.issue("upstream") : zoo::test::Identity{}, std::move(script)) {
    endpoint = std::make_shared<UpstreamEndpoint>();
    endpoint->host = "127.0.0.1";
    endpoint->port = static_cast<std::uint16_t>(server.port());
    endpoint->tls = tls;
    endpoint->ca_pem = pki.ca();
    on_loop([&] { pool = std::make_unique<Pool>(loop(), endpoint, limits); });
  }
  ~Bench() {
    on_loop([&] {
      for (auto& each : asked)
        each->call.reset();
      pool.reset();
    });
  }
  net::Loop& loop() { return *workers.loops()[0]; }
  void on_loop(const std::function<void()>& task) {
    std::promise<void> ran;
    loop().post([&] {
      task();
      ran.set_value();
    });
    ran.get_future().get();
  }
  using Prepare = std::function<void(Asked&)>;
  Asked& start(
      const std::string& method, CallOptions options = {}, const Prepare& prepare = [](Asked&) {}) {
    Asked* made = nullptr;
    on_loop([&] { made = &begin(method, std::move(options), prepare); });
    return *made;
  }
  /// The same, on the loop: for several of them before anything comes of the first.
  Asked& begin(
      const std::string& method, CallOptions options = {}, const Prepare& prepare = [](Asked&) {}) {
    auto& made = *asked.emplace_back(std::make_unique<Asked>());
    prepare(made);
    http::RequestHead head;
    head.method = method;
    head.target = "/" + method;
    if (options.upgrade) head.headers.add("Upgrade", "spdy");
    made.call = pool->start(head, std::move(options), made);
    return made;
  }
  Asked& ask(const std::string& method, CallOptions options = {}) {
    auto& made = start(method, std::move(options));
    wait(made);
    return made;
  }
  void wait(Asked& made) {
    REQUIRE(made.done.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  }
  Pool::Stats stats() {
    Pool::Stats out;
    on_loop([&] { out = pool->stats(); });
    return out;
  }
  zoo::test::Pki pki{"authority"};
  Server server;
  net::Workers workers{1, "test"};
  std::shared_ptr<UpstreamEndpoint> endpoint;
  std::unique_ptr<Pool> pool;
  std::vector<std::unique_ptr<Asked>> asked;
};

inline const std::string k_ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Answers every request on a connection with `answer`.
inline Server::Script always(std::string answer) {
  return [answer](Connection& connection, int) {
    while (!connection.read_head().empty())
      connection.write(answer);
  };
}

inline std::string failure(Asked& asked, Code code = Code::unavailable) {
  REQUIRE(asked.error);
  CHECK_FALSE(asked.ended);
  CHECK(asked.error->code() == code);
  return asked.error->message();
}

} // namespace zoo::upstream::pool_test
