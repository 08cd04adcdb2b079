// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/guest.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/workers.hpp"
#include "fetch.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

using namespace zoo;
using namespace zoo::net;
using namespace std::chrono_literals;

namespace {

/// Answers whoever connects with what he sends, until he ends; then it ends, too.
class Echo {
public:
  Echo() {
    listening_ = file::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const bound = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listening_.get(), bound, size) == 0);
    REQUIRE(::listen(listening_.get(), 16) == 0);
    REQUIRE(::getsockname(listening_.get(), bound, &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (;;) {
        const file::Fd next(::accept(listening_.get(), nullptr, nullptr));
        if (!next) return;
        char bytes[64 * 1024];
        for (;;) {
          const auto got = ::recv(next.get(), bytes, sizeof(bytes), 0);
          if (got <= 0) break;
          std::ptrdiff_t sent = 0;
          while (sent < got) {
            const auto more = ::send(next.get(), bytes + sent, static_cast<std::size_t>(got - sent),
                                     MSG_NOSIGNAL);
            if (more <= 0) break;
            sent += more;
          }
        }
      }
    });
  }
  ~Echo() {
    ::shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::uint16_t port = 0;

private:
  file::Fd listening_;
  std::thread thread_;
};

/// Claims "mine.example" and names below it; decides when it is told to.
class TestPorter final : public Porter {
public:
  bool claims(std::string_view name) const override { return name.ends_with("mine.example"); }
  std::shared_ptr<void> admit(Loop& loop, std::string_view name,
                              std::function<void(const Decision&)> decide) override {
    const std::scoped_lock lock(mutex);
    names.emplace_back(name);
    ++present;
    auto ticket = std::shared_ptr<void>(nullptr, [this](void*) { --present; });
    loop_ = &loop;
    decide_ = [decide = std::move(decide), weak = std::weak_ptr(ticket)](const Decision& what) {
      if (const auto alive = weak.lock(); !weak.expired()) decide(what);
    };
    if (at_once) tell(*at_once);
    return ticket;
  }
  void tell(const Decision& what) {
    loop_->post([decide = decide_, what] { decide(what); });
  }
  std::size_t admitted() {
    const std::scoped_lock lock(mutex);
    return names.size();
  }

  std::mutex mutex;
  std::vector<std::string> names;
  std::optional<Decision> at_once;
  std::atomic<int> present = 0;

private:
  Loop* loop_ = nullptr;
  std::function<void(const Decision&)> decide_;
};

std::string client_hello(const std::string& name) {
  const auto number = [](std::size_t value, std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
      out[size - 1 - i] = static_cast<char>(value >> (8 * i) & 255U);
    return out;
  };
  const auto counted = [&number](const std::string& bytes, std::size_t size) {
    return number(bytes.size(), size) + bytes;
  };
  const auto extension = number(0, 2) + counted(counted('\0' + counted(name, 2), 2), 2);
  const auto body = "\x03\x03" + std::string(32, 'r') + counted("", 1) + counted("\x13\x01", 2) +
                    counted(std::string(1, '\0'), 1) + counted(extension, 2);
  return "\x16\x03\x01" + counted("\x01" + counted(body, 3), 2);
}

class NoHandler final : public http::StreamHandler {
  void on_data(std::string_view) override {}
  void on_end() override {}
  void on_reset() override {}
  void on_drained() override {}
};

/// 204 for everybody.
class NoService final : public http::Service {
public:
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead,
                                                  http::ServerStream& stream) override {
    stream.send_head({204, {}}, true);
    return std::make_unique<NoHandler>();
  }
};

struct GuestWorld {
  Workers loops{2, "test"};
  std::shared_ptr<TestPorter> porter = std::make_shared<TestPorter>();
  Echo echo;
  std::unique_ptr<Listener> listener = [this] {
    auto opened = Listener::tcp(loops.loops(), "127.0.0.1:0", nullptr, {},
                                [](Loop&) { return std::make_unique<NoService>(); });
    REQUIRE(opened);
    (*opened)->set_porter(porter);
    return *std::move(opened);
  }();

  Porter::Decision passes() const { return {true, "127.0.0.1", echo.port}; }
  int connect() const { return test::connect_to(test::port_of(listener->address())); }

  static bool until(const std::function<bool()>& so) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }
  static void send(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      REQUIRE(sent > 0);
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  static std::string rest(int socket) {
    std::string out;
    char bytes[64 * 1024];
    for (;;) {
      const auto got = ::recv(socket, bytes, sizeof(bytes), 0);
      if (got <= 0) return out;
      out.append(bytes, static_cast<std::size_t>(got));
    }
  }
};

} // namespace

TEST_CASE_FIXTURE(GuestWorld, "a connection that is claimed is handed through, every byte of it") {
  porter->at_once = passes();
  const file::Fd client(connect());
  const auto hello = client_hello("Mine.Example");
  for (const char byte : hello) // in as many pieces as there can be
    send(client.get(), std::string_view(&byte, 1));
  std::string much(3'000'000, 'x');
  for (std::size_t i = 0; i < much.size(); i += 7)
    much[i] = static_cast<char>('a' + i % 26);
  std::thread writes([&] {
    send(client.get(), much);
    ::shutdown(client.get(), SHUT_WR); // the end of one way is no end of the other
  });
  const auto answer = rest(client.get());
  writes.join();
  CHECK(answer.size() == hello.size() + much.size());
  CHECK(answer == hello + much);
  CHECK(porter->names == std::vector<std::string>{"mine.example"});
  CHECK(until([this] { return porter->present == 0 && listener->connections() == 0; }));
  const auto passed = listener->passed();
  CHECK(passed.inward == hello.size() + much.size());
  CHECK(passed.outward == passed.inward);
}

TEST_CASE_FIXTURE(GuestWorld, "a client that does not read holds up nobody but itself") {
  porter->at_once = passes();
  const file::Fd slow(connect()), other(connect());
  send(slow.get(), client_hello("mine.example"));
  REQUIRE(until([this] { return porter->admitted() == 1; }));
  const std::string piece(64 * 1024, 's');
  for (;;) { // until nothing more goes in: all buffers of this way are full
    const auto sent = ::send(slow.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) continue;
    std::this_thread::sleep_for(50ms);
    if (::send(slow.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) break;
  }
  CHECK(test::talk(test::port_of(listener->address()),
                   "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 204"));
  CHECK(porter->present == 1);
}

TEST_CASE_FIXTURE(GuestWorld, "what nobody claims is served as if nobody had looked") {
  const auto answer = test::talk(test::port_of(listener->address()),
                                 "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  CHECK(answer.starts_with("HTTP/1.1 204"));
  CHECK(porter->admitted() == 0);
  CHECK(until([this] { return listener->connections() == 0; }));
}

TEST_CASE_FIXTURE(GuestWorld, "one that is refused is told so") {
  porter->at_once = Porter::Decision{};
  const file::Fd client(connect());
  send(client.get(), client_hello("other.mine.example"));
  CHECK(rest(client.get()) == std::string("\x15\x03\x03\x00\x02\x02\x70", 7));
  CHECK(until([this] { return porter->present == 0; }));
}

TEST_CASE_FIXTURE(GuestWorld, "one waits until it is decided, and is cut when it is refused then") {
  const file::Fd client(connect());
  const auto hello = client_hello("mine.example");
  send(client.get(), hello);
  REQUIRE(until([this] { return porter->admitted() == 1; }));
  CHECK(porter->present == 1);
  porter->tell(passes());
  std::string back(hello.size(), '\0');
  REQUIRE(::recv(client.get(), back.data(), back.size(), MSG_WAITALL) ==
          static_cast<std::ptrdiff_t>(back.size()));
  CHECK(back == hello);
  porter->tell({});
  CHECK(rest(client.get()).empty());
  CHECK(until([this] { return porter->present == 0 && listener->connections() == 0; }));
}

TEST_CASE_FIXTURE(GuestWorld, "one that goes away while it waits makes room") {
  {
    const file::Fd client(connect());
    send(client.get(), client_hello("mine.example"));
    REQUIRE(until([this] { return porter->admitted() == 1; }));
  }
  CHECK(until([this] { return porter->present == 0 && listener->connections() == 0; }));
}

TEST_CASE_FIXTURE(GuestWorld, "a passage is for one name, whatever is said") {
  porter->at_once = passes();
  auto passage = Listener::passage(loops.loops(), "127.0.0.1:0", {}, porter, "abc123.mine.example");
  REQUIRE(passage);
  const file::Fd client(test::connect_to(test::port_of((*passage)->address())));
  send(client.get(), "anything");
  ::shutdown(client.get(), SHUT_WR);
  CHECK(rest(client.get()) == "anything");
  CHECK(porter->names == std::vector<std::string>{"abc123.mine.example"});
}

TEST_CASE_FIXTURE(GuestWorld, "a listener that drains serves who was there and had said nothing") {
  porter->at_once = passes();
  const file::Fd quiet(connect()), mine(connect());
  REQUIRE(until([this] { return listener->connections() == 2; }));
  std::atomic<bool> done = false;
  listener->drain({0ms, 20s}, [&done] { done = true; });
  for (int turn = 0; turn < 2; ++turn) // the first loop tells all of them
    for (auto* loop : loops.loops())
      run_and_wait(*loop, [] {});
  CHECK_FALSE(done);
  send(mine.get(), client_hello("mine.example"));
  CHECK(rest(mine.get()).empty()); // no server begins with anybody now
  CHECK(porter->admitted() == 0);
  send(quiet.get(), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK(rest(quiet.get()).starts_with("HTTP/1.1 204"));
  CHECK(until([&done] { return done.load(); }));
}

TEST_CASE_FIXTURE(GuestWorld, "a listener that drains lets those go on that were handed through") {
  porter->at_once = passes();
  const file::Fd passed(connect());
  send(passed.get(), client_hello("mine.example"));
  REQUIRE(until([this] { return listener->passed().outward > 0; }));
  porter->at_once.reset();
  const file::Fd waits(connect());
  send(waits.get(), client_hello("mine.example"));
  REQUIRE(until([this] { return porter->admitted() == 2; }));
  std::atomic<bool> done = false;
  listener->drain({0ms, 10s}, [&done] { done = true; });
  CHECK(rest(waits.get()).empty());
  CHECK_FALSE(done);
  send(passed.get(), "more");
  ::shutdown(passed.get(), SHUT_WR);
  CHECK(rest(passed.get()).ends_with("more"));
  CHECK(until([&done] { return done.load(); }));
}
