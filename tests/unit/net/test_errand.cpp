// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/whole_answer.hpp"
#include "daemon/net/errand.hpp"
#include "daemon/net/gate.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/tls_pipe.hpp"
#include "daemon/net/workers.hpp"
#include "test_pki.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <thread>

using namespace zoo;
using namespace zoo::net;
using namespace std::chrono_literals;

namespace {

/// Decides as it is told, at once.
class TestGate final : public Gate {
public:
  std::shared_ptr<void> ask(Loop& loop, const http::ConnectHead& head,
                            std::function<void(Decision)> decide) override {
    const std::scoped_lock lock(mutex);
    asked.push_back(head.authority());
    auto ticket = std::make_shared<int>(0);
    if (!decision) return ticket;
    loop.post([decide = std::move(decide), what = *decision, weak = std::weak_ptr(ticket)] {
      if (const auto alive = weak.lock()) decide(what);
    });
    return ticket;
  }
  std::mutex mutex;
  std::vector<std::string> asked;
  std::optional<Decision> decision;
};

/// Says what its CONNECT named.
class WhereService final : public http::Service {
public:
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead,
                                                  http::ServerStream& stream) override {
    http::send_json(stream, 200, "\"" + stream.connection().asked_for + "\"");
    return std::make_unique<http::Answered>(stream);
  }
};

file::Fd listen_on_loopback(std::uint16_t& port) {
  file::Fd out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const bound = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(out.get(), bound, size) == 0);
  REQUIRE(::listen(out.get(), 16) == 0);
  REQUIRE(::getsockname(out.get(), bound, &size) == 0);
  port = ntohs(address.sin_port);
  return out;
}

struct ErrandWorld {
  ErrandWorld() {
    char name[] = "/tmp/zoo-errand-XXXXXX";
    directory = ::mkdtemp(name);
    ListenerLimits limits;
    limits.idle = 300ms;
    auto opened = Listener::proxy(loops.loops(), directory / "s", limits, gate,
                                  [](Loop&) { return std::make_unique<WhereService>(); });
    REQUIRE(opened);
    listener = *std::move(opened);
  }
  ~ErrandWorld() {
    listener.reset();
    std::filesystem::remove_all(directory);
  }
  int connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, (directory / "s").c_str());
    const int out = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(out, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    return out;
  }
  static void send(int socket, std::string_view bytes) {
    REQUIRE(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<std::ptrdiff_t>(bytes.size()));
  }
  static std::string rest(int socket) {
    std::string out;
    char bytes[4096];
    for (;;) {
      const auto got = ::recv(socket, bytes, sizeof(bytes), 0);
      if (got <= 0) return out;
      out.append(bytes, static_cast<std::size_t>(got));
    }
  }
  std::string talk(std::string_view bytes) const {
    const file::Fd client(connect());
    send(client.get(), bytes);
    return rest(client.get());
  }
  static std::string head_of(int socket) {
    std::string out;
    char byte = 0;
    while (!out.ends_with("\r\n\r\n") && ::recv(socket, &byte, 1, 0) == 1)
      out += byte;
    return out;
  }
  bool empty_soon() const {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (listener->connections() != 0) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }

  Workers loops{2, "test"};
  std::shared_ptr<TestGate> gate = std::make_shared<TestGate>();
  std::filesystem::path directory;
  std::unique_ptr<Listener> listener;
};

constexpr std::string_view k_connect = "CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n";

} // namespace

TEST_CASE_FIXTURE(ErrandWorld, "what is refused is told so, in the status line and in a Status") {
  gate->decision = Gate::Refusal{403, "it is not\r\nallowed"};
  const auto answer = talk(k_connect);
  CHECK(answer.starts_with("HTTP/1.1 403 it is not??allowed\r\n"));
  CHECK(answer.find(R"("kind":"Status")") != answer.npos);
  CHECK(answer.find(R"(it is not\u000d\u000aallowed)") != answer.npos);
  CHECK(gate->asked == std::vector<std::string>{"a.example:443"});
  CHECK(empty_soon());
}

TEST_CASE_FIXTURE(ErrandWorld, "nobody is judged who says more than one CONNECT") {
  gate->decision = Gate::Refusal{};
  const auto twice = std::string(k_connect) + std::string(k_connect);
  CHECK(talk(twice).starts_with("HTTP/1.1 400 bytes follow"));
  CHECK(talk("GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 only CONNECT"));
  CHECK(talk("CONNECT a.example:443 HTTP/1.1\r\nX: " + std::string(5000, 'x'))
            .starts_with("HTTP/1.1 431 "));
  CHECK(talk("CONNECT a.example:443 HTTP/1.1\n\n").starts_with("HTTP/1.1 400 "));
  CHECK(gate->asked.empty());
  CHECK(empty_soon());
}

TEST_CASE_FIXTURE(ErrandWorld,
                  "bytes go to the address that was judged, and to the first that is") {
  std::uint16_t port = 0;
  const auto server = listen_on_loopback(port);
  std::uint16_t closed = 0;
  listen_on_loopback(closed); // closed again: nobody answers there
  gate->decision = Gate::Outward{
      {numeric_address("127.0.0.1", closed).front(), numeric_address("127.0.0.1", port).front()}};
  const file::Fd client(connect());
  for (const char byte : k_connect)
    send(client.get(), std::string_view(&byte, 1));
  CHECK(head_of(client.get()).starts_with("HTTP/1.1 200 "));
  const file::Fd other(::accept(server.get(), nullptr, nullptr));
  send(client.get(), "there");
  char bytes[5];
  REQUIRE(::recv(other.get(), bytes, 5, MSG_WAITALL) == 5);
  CHECK(std::string_view(bytes, 5) == "there");
  send(other.get(), "back");
  ::shutdown(other.get(), SHUT_WR);
  CHECK(rest(client.get()) == "back");
  ::shutdown(client.get(), SHUT_WR);
  CHECK(empty_soon());
}

TEST_CASE_FIXTURE(ErrandWorld, "one through which nothing goes is ended") {
  std::uint16_t port = 0;
  const auto server = listen_on_loopback(port);
  gate->decision = Gate::Outward{{numeric_address("127.0.0.1", port).front()}};
  const file::Fd client(connect());
  send(client.get(), k_connect);
  CHECK(head_of(client.get()).starts_with("HTTP/1.1 200 "));
  CHECK(rest(client.get()).empty());
  CHECK(empty_soon());
}

TEST_CASE_FIXTURE(ErrandWorld, "where nobody answers, that is said") {
  std::uint16_t closed = 0;
  listen_on_loopback(closed);
  gate->decision = Gate::Outward{{numeric_address("127.0.0.1", closed).front()}};
  CHECK(talk(k_connect).starts_with("HTTP/1.1 502 a.example:443 cannot be reached\r\n"));
}

TEST_CASE_FIXTURE(ErrandWorld, "one that goes away while it is judged makes room") {
  {
    const file::Fd client(connect());
    send(client.get(), k_connect);
    const auto end = std::chrono::steady_clock::now() + 20s;
    for (bool came = false; !came;) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      const std::scoped_lock lock(gate->mutex);
      came = !gate->asked.empty();
    }
  }
  CHECK(empty_soon());
}

TEST_CASE_FIXTURE(ErrandWorld, "what is served here begins TLS, and knows where it wanted to go") {
  const test::Pki pki("inner");
  const auto identity = pki.issue("zood");
  TlsServerOptions options;
  options.certificate_chain_pem = identity.certificate;
  options.key_pem = Secret(std::string(identity.key));
  gate->decision = Gate::Inward{TlsServerContext::create(options).value()};
  TlsClientOptions client_options;
  client_options.ca_pem = pki.ca();
  client_options.server_name = "localhost";
  const auto context = TlsClientContext::create(client_options).value();
  const file::Fd client(connect());
  send(client.get(), k_connect);
  CHECK(head_of(client.get()).starts_with("HTTP/1.1 200 "));
  const auto pipe = TlsPipe::connect(*context).value();
  std::string plain;
  bool sent = false;
  while (plain.find("a.example:443") == plain.npos) {
    send(client.get(), pipe->take());
    char bytes[16 * 1024];
    const auto got = ::recv(client.get(), bytes, sizeof(bytes), 0);
    REQUIRE(got > 0);
    REQUIRE(pipe->receive({bytes, static_cast<std::size_t>(got)}, plain));
    if (!pipe->open() || std::exchange(sent, true)) continue;
    REQUIRE(pipe->write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  }
  CHECK(plain.starts_with("HTTP/1.1 200 "));
}

TEST_CASE_FIXTURE(ErrandWorld, "the socket is its owner's alone") {
  struct stat status{};
  REQUIRE(::stat((directory / "s").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
}
