// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "pool_bench.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <future>

using namespace zoo;
using namespace zoo::upstream;
using namespace std::chrono_literals;
using namespace zoo::upstream::pool_test;

namespace {

std::shared_ptr<const zoo::http::FieldLines> authorization(const char* value) {
  return std::make_shared<const zoo::http::FieldLines>(
      zoo::http::FieldLines::make({{"Authorization", value}}).value());
}

} // namespace

TEST_CASE("a connection is used again, and TLS sessions are resumed") {
  for (const bool tls : {false, true}) {
    Bench bench(
        [](Connection& connection, int number) {
          for (int i = 0; i < 3; ++i) {
            if (connection.read_head().empty()) return;
            connection.write(
                i == 2 && number == 0
                    ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                    : k_ok);
          }
        },
        tls);
    for (int i = 0; i < 4; ++i) {
      auto& asked = bench.ask("GET");
      CHECK(asked.status == 200);
      CHECK(asked.body == "ok");
      CHECK(asked.ended);
    }
    CHECK(bench.server.connections() == 2);
    const auto stats = bench.stats();
    CHECK(stats.idle == 1);
    CHECK(stats.busy == 0);
    CHECK(stats.opened == 2);
    CHECK(stats.resumed == (tls ? 1 : 0));
  }
}

TEST_CASE("a request made inside on_end uses the same connection") {
  Bench bench(always(k_ok));
  Asked second;
  auto& first = bench.start("GET", {}, [&](Asked& asked) {
    asked.at_end = [&](Asked&) {
      http::RequestHead head;
      head.method = "GET";
      head.target = "/again";
      second.call = bench.pool->start(head, {}, second);
    };
  });
  bench.wait(first);
  bench.wait(second);
  CHECK(second.body == "ok");
  CHECK(bench.server.connections() == 1);
  bench.on_loop([&] { second.call.reset(); });
}

TEST_CASE("answers come whole in any framing, byte by byte") {
  for (const std::string& answer :
       {std::string(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "1\r\nh\r\n4;e=1\r\nello\r\n0\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\n\r\nhello")}) {
    for (const bool tls : {false, true}) {
      Bench bench(
          [&](Connection& connection, int) {
            connection.read_head();
            connection.write_slowly(answer);
          },
          tls);
      auto& asked = bench.ask("GET");
      CHECK(asked.body == "hello");
      CHECK(asked.ended);
    }
  }
}

TEST_CASE("a body goes out whole") {
  std::promise<std::string> got;
  const std::string body(1'000'000, 'b');
  Bench bench(
      [&](Connection& connection, int) {
        const auto head = connection.read_head();
        CHECK(head.find("Content-Length: 1000000\r\n") != head.npos);
        got.set_value(connection.read(body.size()));
        connection.write(k_ok);
      },
      true);
  CHECK(bench.ask("POST", {body}).status == 200);
  CHECK(got.get_future().get() == body);
}

TEST_CASE("an answer that is cut is an error, never an end") {
  const std::pair<std::string, std::string> table[] = {
      {"", "the upstream closed the connection without an answer"},
      {"HTTP/1.1 200 OK\r\nContent-", "the upstream closed the connection within its answer"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
       "the upstream closed the connection within its answer"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
       "the upstream closed the connection within its answer"},
  };
  for (const auto& [answer, words] : table) {
    Bench bench([answer = answer](Connection& connection, int) {
      connection.read_head();
      connection.write(answer);
    });
    CHECK(failure(bench.ask("GET")) == words);
    CHECK(bench.stats().busy == 0);
    CHECK(bench.server.connections() == 1); // a fresh connection is not tried again
  }
  // Without a length, TLS tells the end from a cut.
  Bench cut(
      [](Connection& connection, int) {
        connection.read_head();
        connection.write("HTTP/1.1 200 OK\r\n\r\nhel");
        connection.cut();
      },
      true);
  failure(cut.ask("GET"));
  Bench reset([](Connection& connection, int) {
    connection.read_head();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
    connection.abort();
  });
  failure(reset.ask("GET"));
}

TEST_CASE("garbage is an error that says so") {
  for (const std::string& answer :
       {std::string("SSH-2.0-OpenSSH\r\n\r\n"),
        "HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'a') + "\r\n\r\n",
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    Bench bench(always(answer));
    CHECK(failure(bench.ask("GET")).starts_with("the upstream's answer is not HTTP: "));
  }
  Bench unasked(always("HTTP/1.1 101 Switching Protocols\r\n\r\n"));
  failure(unasked.ask("GET"));
}

TEST_CASE("a kept connection that fails is tried once more, for reads without a body only") {
  const auto script = [](Connection& connection, int number) {
    connection.read_head();
    connection.write(k_ok);
    if (connection.read_head().empty()) return; // the second request on it
    if (number < 2) return connection.abort();
    connection.write(k_ok);
  };
  Bench get(script);
  get.ask("GET");
  CHECK(get.ask("GET").status == 200);
  CHECK(get.server.connections() == 2);
  Bench post(script);
  post.ask("GET");
  CHECK(failure(post.ask("POST"), Code::timeout).ends_with("and may have done what was asked"));
  CHECK(post.server.connections() == 1);
  Bench body(script);
  body.ask("GET");
  failure(body.ask("GET", {"with a body"}));
}

TEST_CASE("an idle connection that the upstream closed is not used") {
  std::promise<void> closed;
  Bench bench([&](Connection& connection, int number) {
    connection.read_head();
    connection.write(k_ok);
    if (number > 0) return;
    connection.end();
    closed.set_value();
  });
  bench.ask("GET");
  closed.get_future().get();
  CHECK(bench.ask("POST").status == 200);
  CHECK(bench.server.connections() == 2);
}

TEST_CASE("connect, answer and body have their time") {
  PoolLimits limits;
  limits.connect = limits.answer = 400ms;
  std::promise<void> release;
  const auto released = release.get_future().share();
  Bench silent(
      [=](Connection& connection, int) {
        connection.read_head();
        released.wait();
      },
      false, limits);
  auto& head = silent.ask("GET");
  REQUIRE(head.error);
  CHECK(head.error->code() == Code::timeout);
  Bench half(
      [=](Connection& connection, int) {
        connection.read_head();
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
        released.wait();
      },
      false, limits);
  auto& body = half.ask("GET");
  REQUIRE(body.error);
  CHECK(body.error->code() == Code::timeout);
  CHECK(body.body == "hel");
  // A plain server never answers the TLS handshake.
  Bench mute([=](Connection&, int) { released.wait(); }, false, limits);
  auto endpoint = std::make_shared<UpstreamEndpoint>();
  endpoint->host = "127.0.0.1";
  endpoint->port = static_cast<std::uint16_t>(mute.server.port());
  endpoint->ca_pem = mute.pki.ca();
  mute.on_loop([&] { mute.pool = std::make_unique<Pool>(mute.loop(), endpoint, limits); });
  CHECK(failure(mute.ask("GET")).find("no TLS handshake within") != std::string::npos);
  // A long-running call has all the time.
  Bench patient(
      [=](Connection& connection, int) {
        connection.read_head();
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        released.wait();
        connection.write("ok");
      },
      false, limits);
  auto& watch = patient.start("GET", {"", true});
  patient.ask("GET"); // ends by its time limit, which is as long as the watch would have had
  CHECK(patient.asked.back()->error);
  release.set_value();
  patient.wait(watch);
  CHECK(watch.body == "ok");
}

TEST_CASE("an upstream that is not there, or is somebody else, is an error") {
  Bench bench(always(k_ok), true);
  const test::Pki other("other");
  const auto point = [&](auto change) {
    auto endpoint = std::make_shared<UpstreamEndpoint>();
    endpoint->host = "127.0.0.1";
    endpoint->port = bench.endpoint->port;
    endpoint->ca_pem = bench.pki.ca();
    change(*endpoint);
    bench.on_loop([&] { bench.pool = std::make_unique<Pool>(bench.loop(), endpoint); });
    return failure(bench.ask("GET"));
  };
  CHECK(point([&](auto& where) {
          where.ca_pem = other.ca();
        }).find("TLS handshake with 127.0.0.1:") == 0);
  CHECK(point([](auto& where) { where.server_name = "example.org"; }).find("mismatch") !=
        std::string::npos);
  CHECK(point([](auto& where) { where.ca_pem = "nothing"; }) ==
        "the server authorities hold no PEM certificate");
  CHECK(point([](auto& where) { where.port = 1; }) ==
        "cannot connect to 127.0.0.1:1: Connection refused");
  CHECK(point([](auto& where) {
          where.host = "no-such-host.invalid";
        }).starts_with("cannot connect to no-such-host.invalid"));
}

TEST_CASE("a paused call stops the upstream, and resumes where it was") {
  std::atomic<std::size_t> sent{0};
  constexpr std::size_t k_size = 64u << 20;
  Bench bench([&](Connection& connection, int) {
    connection.read_head();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(k_size) + "\r\n\r\n");
    const std::string piece(1u << 20, 'p');
    while (sent < k_size && connection.write(piece))
      sent += piece.size();
  });
  std::promise<void> paused;
  bool once = false;
  auto& asked = bench.start("GET", {"", true}, [&](Asked& each) {
    each.at_data = [&](Asked& self) {
      if (self.body.size() < 100'000 || std::exchange(once, true)) return;
      self.call->pause();
      paused.set_value();
    };
  });
  paused.get_future().get();
  std::size_t have = 0;
  bench.on_loop([&] { have = asked.body.size(); });
  for (int i = 0; i < 100; ++i) // the loop goes round, and nothing arrives
    bench.on_loop([&] { CHECK(asked.body.size() == have); });
  CHECK(sent < k_size); // what the sockets' buffers hold, no more
  bench.on_loop([&] { asked.call->resume(); });
  bench.wait(asked);
  CHECK(asked.body.size() == k_size);
}

TEST_CASE("what was paused within its last bytes leaves its connection to the next request") {
  for (const bool tls : {false, true}) {
    CAPTURE(tls);
    Bench bench(always("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n"),
                tls);
    Asked second;
    std::promise<void> paused;
    auto& first = bench.start("GET", {}, [&](Asked& asked) {
      asked.at_data = [&](Asked& self) {
        if (self.body != "abc") return;
        self.call->pause();
        paused.set_value();
      };
      asked.at_end = [&](Asked&) {
        http::RequestHead head;
        head.method = "GET";
        head.target = "/again";
        second.call = bench.pool->start(head, {}, second);
      };
    });
    paused.get_future().get();
    bench.on_loop([] {});
    bench.on_loop([&] {
      CHECK(first.body == "abc");
      first.call->resume();
    });
    bench.wait(first);
    bench.wait(second);
    CHECK(first.body == "abcdef");
    CHECK(second.body == "abcdef");
    CHECK(bench.server.connections() == 1);
    bench.on_loop([&] { second.call.reset(); });
  }
}

TEST_CASE("a call may be cancelled inside any callback, and its connection is closed") {
  for (const int where : {0, 1, 2}) {
    std::promise<bool> gone;
    Bench bench([&](Connection& connection, int) {
      connection.read_head();
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n");
      if (where == 2) connection.write("0\r\n\r\n");
      gone.set_value(connection.read(1).empty());
    });
    std::promise<void> cancelled;
    bench.start("GET", {}, [&](Asked& each) {
      const auto cancel = [&](Asked& self) {
        bench.asked.front()->call.reset();
        (void)self;
        cancelled.set_value();
      };
      (where == 0 ? each.at_head : where == 1 ? each.at_data : each.at_end) = cancel;
    });
    cancelled.get_future().get();
    CHECK(bench.stats().busy == 0);
    CHECK(bench.stats().idle == (where == 2 ? 1 : 0));
    if (where == 2) bench.on_loop([&] { bench.pool.reset(); });
    CHECK(gone.get_future().get());
  }
}

TEST_CASE("calls that are taken back before they were sent share the connection that opens") {
  Bench bench(always(k_ok), true);
  // Whose handshake never ends: the kernel takes connections for a socket that nobody looks at.
  const file::Fd silent(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(silent.get(), raw, size) == 0);
  REQUIRE(::listen(silent.get(), 64) == 0);
  REQUIRE(::getsockname(silent.get(), raw, &size) == 0);
  bench.on_loop([&] { bench.endpoint->port = ntohs(address.sin_port); });
  for (int i = 0; i < 20; ++i) {
    auto& asked = bench.start("GET");
    bench.on_loop([&] { asked.call.reset(); });
  }
  CHECK(bench.stats().idle == 1);
  CHECK(bench.stats().busy == 0);
  int connections = 0;
  while (file::Fd(::accept4(silent.get(), nullptr, nullptr, SOCK_CLOEXEC)))
    ++connections;
  CHECK(connections == 1);
}

TEST_CASE("a connection that opens for a call that was taken back serves the next one") {
  Bench bench(always(k_ok), true);
  auto& first = bench.start("GET");
  auto& second = bench.start("GET");
  bench.on_loop([&] { first.call.reset(); });
  bench.wait(second);
  CHECK(bench.ask("GET").body == "ok");
  CHECK(bench.ask("POST").body == "ok");
  CHECK(bench.stats().opened <= 2);
}

TEST_CASE("a tunnel carries bytes both ways and half-closes") {
  for (const bool tls : {false, true}) {
    std::promise<std::string> got;
    Bench bench(
        [&](Connection& connection, int) {
          const auto head = connection.read_head();
          CHECK(head.find("Connection: Upgrade\r\nUpgrade: spdy\r\n") != head.npos);
          connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: spdy\r\n"
                           "Connection: Upgrade\r\n\r\nearly");
          auto up = connection.read(2'000'000);
          up += connection.read(1); // the end, by send_end()
          connection.write("late");
          got.set_value(up);
        },
        tls);
    const std::string up(2'000'000, 'u');
    bool writable = true;
    auto& asked = bench.start("POST", {"", true, true}, [&](Asked& each) {
      each.at_head = [&](Asked& self) {
        self.call->send_data(up);
        writable = self.call->writable();
        self.call->send_end();
      };
    });
    bench.wait(asked);
    CHECK(asked.status == 101);
    CHECK(asked.body == "earlylate");
    CHECK(got.get_future().get() == up);
    CHECK(asked.drains == (writable ? 0 : 1));
    CHECK(bench.stats().idle == 0);
  }
  Bench refused(always(k_ok));
  auto& asked = refused.ask("POST", {"", true, true});
  CHECK(asked.status == 200);
  CHECK(asked.body == "ok");
  CHECK(refused.stats().idle == 0);
}

TEST_CASE("the number of connections has a cap, and idle ones go first") {
  std::promise<void> release;
  const auto released = release.get_future().share();
  PoolLimits limits;
  limits.connections = 2;
  limits.idle = 1;
  Bench bench(
      [=](Connection& connection, int) {
        while (!connection.read_head().empty()) {
          released.wait();
          connection.write(k_ok);
        }
      },
      false, limits);
  auto& one = bench.start("GET");
  auto& two = bench.start("GET");
  CHECK(failure(bench.ask("GET")) ==
        "2 requests to the upstream are open, as many as are allowed: retry after 1 second");
  release.set_value();
  bench.wait(one);
  bench.wait(two);
  CHECK(bench.stats().idle == 1);
  CHECK(bench.ask("GET").status == 200);
}

TEST_CASE("connections are opened few at a time until they can be, and none is forgotten") {
  PoolLimits limits;
  limits.first_opening = 2;
  Bench bench(always(k_ok), true, limits);
  std::vector<Asked*> all;
  bench.on_loop([&] { // all of them before the first connection is there
    for (int i = 0; i < 10; ++i)
      all.push_back(&bench.begin("GET"));
    CHECK(bench.pool->stats().busy == 2);
    CHECK(bench.pool->stats().waiting == 8);
    all[5]->call.reset(); // who went has no turn, and does not count
    CHECK(bench.pool->stats().waiting == 7);
  });
  for (auto* each : all) {
    if (!each->call) continue;
    bench.wait(*each);
    CHECK(each->body == "ok");
  }
  CHECK(bench.stats().waiting == 0);
  CHECK(bench.server.connections() <= 9);
}

TEST_CASE("what needs a new connection does not keep others from one that comes back") {
  PoolLimits limits;
  limits.first_opening = 1;
  Bench bench(always(k_ok), true, limits);
  CHECK(bench.ask("GET").status == 200); // there is one, and two may open now
  std::vector<Asked*> tunnels;
  bench.on_loop([&] {
    CallOptions upgrade;
    upgrade.upgrade = true;
    for (int i = 0; i < 4; ++i)
      tunnels.push_back(&bench.begin("GET", upgrade));
    CHECK(bench.pool->stats().waiting == 2);
    auto& get = bench.begin("GET"); // behind the tunnels, on the connection that is there
    CHECK(bench.pool->stats().waiting == 2);
    CHECK(bench.pool->stats().idle == 0);
    tunnels.push_back(&get);
  });
  for (auto* each : tunnels) {
    bench.wait(*each);
    CHECK(each->status == 200);
  }
}

TEST_CASE(
    "a tenant's long-running calls have a share of the connections, and so have all of them") {
  PoolLimits limits;
  limits.connections = 8;
  std::promise<void> release;
  const auto released = release.get_future().share();
  Bench bench(
      [=](Connection& connection, int) {
        connection.read_head();
        released.wait();
      },
      false, limits);
  const auto open = [&](const char* owner) {
    CallOptions options;
    options.long_running = true;
    options.owner = owner;
    return &bench.start("GET", std::move(options));
  };
  const auto refused = [&](const char* owner) {
    auto* asked = open(owner);
    bench.wait(*asked);
    REQUIRE(asked->error);
    return asked->error->text();
  };
  auto* first = open("foofoo");
  open("foofoo");
  CHECK(refused("foofoo") ==
        "2 logs, tunnels, proxied requests and watches of kinds of its own are open for this "
        "tenant, as many as one may have on one event loop: end some, or try again");
  bench.on_loop([&] { first->call.reset(); });
  open("foofoo");
  for (const auto* other : {"barbar", "barbar", "bazbaz", "bazbaz"})
    open(other);
  CHECK(refused("quxqux").starts_with("6 logs, tunnels, proxied requests and watches"));
  open(""); // zood's own
  CHECK(bench.stats().busy == 7);
  release.set_value();
}

TEST_CASE("who waits for a connection that cannot be opened is told") {
  PoolLimits limits;
  limits.first_opening = 2;
  Bench bench(always(k_ok), false, limits);
  auto endpoint = std::make_shared<UpstreamEndpoint>();
  endpoint->host = "127.0.0.1";
  endpoint->port = 1;
  endpoint->tls = false;
  bench.on_loop([&] { bench.pool = std::make_unique<Pool>(bench.loop(), endpoint, limits); });
  std::vector<Asked*> all;
  bench.on_loop([&] { // all of them before the first one has failed
    for (int i = 0; i < 7; ++i)
      all.push_back(&bench.begin("GET"));
    CHECK(bench.pool->stats().waiting == 5);
  });
  for (auto* each : all) {
    bench.wait(*each);
    CHECK(failure(*each) == "cannot connect to 127.0.0.1:1: Connection refused");
  }
}

TEST_CASE("after one that could not be opened, connections are opened few at a time again") {
  PoolLimits limits;
  limits.first_opening = 1;
  Bench bench(always(k_ok), false, limits);
  CHECK(bench.ask("GET").status == 200); // two may open now
  const auto port = bench.endpoint->port;
  const auto four = [&](std::uint16_t where, std::size_t waiting) {
    std::vector<Asked*> out;
    bench.on_loop([&] {
      bench.endpoint->port = where;
      CallOptions upgrade; // wants a connection of its own
      upgrade.upgrade = true;
      for (int i = 0; i < 4; ++i)
        out.push_back(&bench.begin("GET", upgrade));
      CHECK(bench.pool->stats().waiting == waiting);
    });
    for (auto* each : out)
      bench.wait(*each);
    return out;
  };
  for (auto* each : four(1, 2))
    CHECK(failure(*each) == "cannot connect to 127.0.0.1:1: Connection refused");
  for (auto* each : four(port, 3))
    CHECK(each->status == 200);
}

TEST_CASE("who waits for a connection does so no longer than one may take") {
  // A port that takes connections into its backlog and never says a word.
  const int silent = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  REQUIRE(::bind(silent, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(silent, 16) == 0);
  REQUIRE(::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  PoolLimits limits;
  limits.first_opening = 1;
  limits.connect = 80ms;
  Bench bench(always(k_ok), true, limits);
  auto endpoint = std::make_shared<UpstreamEndpoint>();
  endpoint->host = "127.0.0.1";
  endpoint->port = ntohs(address.sin_port);
  endpoint->ca_pem = bench.pki.ca();
  bench.on_loop([&] { bench.pool = std::make_unique<Pool>(bench.loop(), endpoint, limits); });
  auto& first = bench.start("GET");
  auto& second = bench.start("GET");
  bench.wait(second);
  CHECK(failure(second) ==
        fmt::format("no connection to 127.0.0.1:{} within 80 ms", endpoint->port));
  bench.wait(first);
  CHECK(failure(first).find("no TLS handshake within 80 ms") != std::string::npos);
  ::close(silent);
}

TEST_CASE("idle connections are closed after their time, and the credential is read each time") {
  PoolLimits limits;
  limits.idle_time = 80ms;
  std::mutex mutex;
  std::vector<std::string> heads;
  std::promise<void> first_gone;
  Bench bench(
      [&](Connection& connection, int number) {
        for (;;) {
          const auto head = connection.read_head();
          if (head.empty()) break;
          const std::lock_guard lock(mutex);
          heads.push_back(head);
          connection.write(k_ok);
        }
        if (number == 0) first_gone.set_value();
      },
      false, limits);
  bench.endpoint->authorization.store(authorization("Bearer one"));
  bench.ask("GET");
  bench.endpoint->authorization.store(authorization("Bearer two"));
  bench.ask("GET");
  first_gone.get_future().get();
  CHECK(heads.at(0).find("Authorization: Bearer one\r\n") != std::string::npos);
  CHECK(heads.at(1).find("Authorization: Bearer two\r\n") != std::string::npos);
}
