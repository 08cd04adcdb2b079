// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/certificate.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/net/listener.hpp"
#include "daemon/net/transport.hpp"
#include "daemon/net/workers.hpp"
#include "fetch.hpp"

#include <doctest/doctest.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/ssl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

using namespace zoo;
using namespace zoo::net;
using namespace std::chrono_literals;

namespace {

/// Shared by the services of all loops.
struct Seen {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Loop*> loops;
  int open = 0;
  int resets = 0;
  int refused = 0;
  int watches = 0;
  std::vector<std::function<void()>> waiting; ///< answers requests to /wait
  void wait_until(const std::function<bool()>& done) {
    std::unique_lock lock(mutex);
    REQUIRE(changed.wait_for(lock, 20s, done));
  }
};

/// "/": who the client is. "/echo": the body. "/big": 3 MB. "/wait": when the test says so.
/// "/watch": lasts until it is to leave. "/throw": an exception. "/busy": 429. "/tunnel": one that
/// is over at once. "/early": 413 before the body.
class TestService : public http::Service {
public:
  TestService(Loop& loop, Seen& seen) : loop_(loop), seen_(seen) {}
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override {
    return std::make_unique<Handler>(*this, std::move(head), stream);
  }

private:
  class Handler : public http::StreamHandler {
  public:
    Handler(TestService& service, http::RequestHead head, http::ServerStream& stream)
        : service_(service), head_(std::move(head)), stream_(stream) {
      const std::lock_guard lock(service_.seen_.mutex);
      service_.seen_.loops.insert(&service_.loop_);
      ++service_.seen_.open;
      if (head_.target != "/early") return;
      stream_.send_head({413, {}}, false);
      stream_.send_data("too much", true);
    }
    ~Handler() override {
      const std::lock_guard lock(service_.seen_.mutex);
      --service_.seen_.open;
      service_.seen_.changed.notify_all();
    }
    void on_data(std::string_view bytes) override {
      body_ += bytes;
      stream_.consume(bytes.size());
    }
    void on_end() override {
      if (head_.target == "/throw") throw std::runtime_error("as a test wants it");
      if (head_.target == "/wait") {
        const std::lock_guard lock(service_.seen_.mutex);
        service_.seen_.waiting.push_back(
            [this] { service_.loop_.post([this] { answer("waited"); }); });
        service_.seen_.changed.notify_all();
      } else if (head_.target == "/watch") {
        stream_.send_head({200, {}}, false);
        const std::lock_guard lock(service_.seen_.mutex);
        ++service_.seen_.watches;
        service_.seen_.changed.notify_all();
      } else if (head_.target == "/big") {
        stream_.send_head({200, {}}, false);
        fill();
      } else if (head_.target == "/busy") {
        const std::lock_guard lock(service_.seen_.mutex);
        ++service_.seen_.refused;
        stream_.send_head({429, {}}, true);
        service_.seen_.changed.notify_all();
      } else if (head_.target == "/tunnel") {
        if (sent_++ != 0) return; // its client has closed
        stream_.send_head({101, {}}, false);
        stream_.send_data("over", true);
      } else if (head_.target == "/authority") {
        answer(crypto::hex_encode(stream_.connection().peer_authority));
      } else if (head_.target == "/echo") {
        answer(body_);
      } else {
        const auto& info = stream_.connection();
        answer(fmt::format("{} cert={} verified={} uid={}", info.peer == "unix" ? "unix" : "tcp",
                           !info.peer_certificate_der.empty(), info.peer_certificate_verified,
                           info.peer_uid));
      }
    }
    void on_reset() override {
      const std::lock_guard lock(service_.seen_.mutex);
      ++service_.seen_.resets;
      service_.seen_.changed.notify_all();
    }
    void on_drained() override { fill(); }
    void on_leaving() override {
      if (head_.target == "/watch") stream_.send_data("told", true);
    }

  private:
    void answer(const std::string& text) {
      stream_.send_head({200, {}}, false);
      stream_.send_data(text, true);
    }
    void fill() {
      while (sent_ < 3'000'000 && stream_.writable()) {
        sent_ += 10'000;
        stream_.send_data(std::string(10'000, 'b'), sent_ == 3'000'000);
      }
    }
    TestService& service_;
    http::RequestHead head_;
    http::ServerStream& stream_;
    std::string body_;
    std::size_t sent_ = 0;
  };
  Loop& loop_;
  Seen& seen_;
};

struct Bench {
  explicit Bench(std::size_t loops = 2) : workers(loops, "test") {}
  ServiceFactory factory() {
    return [this](Loop& loop) { return std::make_unique<TestService>(loop, seen); };
  }
  void listen(ListenerLimits limits = {}, bool tls = true) {
    const auto server = pki.issue("server");
    if (tls)
      context =
          *TlsServerContext::create({server.certificate, Secret::copy_of(server.key), pki.ca()});
    auto made = Listener::tcp(workers.loops(), "127.0.0.1:0", context, limits, factory());
    REQUIRE(made);
    listener = std::move(*made);
  }
  std::string url(const std::string& path) const { return "https://" + listener->address() + path; }
  int port() const { return test::port_of(listener->address()); }

  test::Pki pki{"authority"};
  Seen seen;
  Workers workers;
  std::shared_ptr<TlsServerContext> context;
  std::unique_ptr<Listener> listener;
};

/// A client of ours, which says whether its connection went on from an earlier session.
struct Guest final : TransportHandler {
  Loop loop;
  Timer deadline{loop};
  std::unique_ptr<Transport> transport;
  std::string heard;
  bool resumed = false;

  Guest(int port, const TlsClientContext& tls) {
    transport =
        Transport::connect(loop, "127.0.0.1", static_cast<std::uint16_t>(port), &tls, *this);
    deadline.start(20s, [this] { loop.stop(); });
    loop.run();
  }
  void on_open() override {
    resumed = transport->session_resumed();
    transport->write("GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    transport->read(true);
  }
  void on_read(std::string_view bytes) override { heard += bytes; }
  void on_read_end() override { loop.stop(); }
  void on_written() override {}
  void on_failure(Error error) override {
    heard += error.message();
    loop.stop();
  }
};

struct Directory {
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "zood-net-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

} // namespace

TEST_CASE("TLS with both protocols, by the client's choice") {
  Bench bench;
  bench.listen();
  for (const bool http2 : {false, true}) {
    CAPTURE(http2);
    const auto hello = test::fetch({bench.url("/"), bench.pki.ca(), {}, "", http2, ""});
    CHECK(hello.error == 0);
    CHECK(hello.version == (http2 ? 3 : 2));
    CHECK(hello.body == "tcp cert=false verified=false uid=-1");
    const std::string body(2'000'000, 'e');
    CHECK(test::fetch({bench.url("/echo"), bench.pki.ca(), {}, "", http2, body}).body == body);
    CHECK(test::fetch({bench.url("/big"), bench.pki.ca(), {}, "", http2, ""}).body.size() ==
          3'000'000);
  }
}

TEST_CASE("handshakes are counted by how they ended") {
  Bench bench;
  bench.listen();
  CHECK(test::fetch({bench.url("/"), bench.pki.ca(), {}, "", true, ""}).error == 0);
  CHECK(test::talk(bench.port(), "GET / HTTP/1.1\r\n\r\n").find("HTTP") == std::string::npos);
  // The client hears of the end before it is counted.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (bench.listener->handshakes().failed == 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const auto all = bench.listener->handshakes();
  CHECK(all.full == 1);
  CHECK(all.resumed == 0);
  CHECK(all.failed == 1);
}

TEST_CASE("a client certificate is verified, and an unknown one still gets an answer") {
  Bench bench;
  bench.listen();
  const test::Pki other("other");
  for (const bool http2 : {false, true}) {
    const auto ask = [&](const test::Identity& client) {
      const auto got = test::fetch({bench.url("/"), bench.pki.ca(), client, "", http2, ""});
      CHECK(got.status == 200);
      return got.body;
    };
    CHECK(ask(bench.pki.issue("me")) == "tcp cert=true verified=true uid=-1");
    CHECK(ask(other.issue("me")) == "tcp cert=true verified=false uid=-1");
    CHECK(ask(bench.pki.issue("old", -1)) == "tcp cert=true verified=false uid=-1");
    const auto authority = [&](const test::Identity& client) {
      return test::fetch({bench.url("/authority"), bench.pki.ca(), client, "", http2, ""}).body;
    };
    const auto ca = crypto::Certificate::from_pem(bench.pki.ca());
    REQUIRE(ca);
    CHECK(authority(bench.pki.issue("me")) == crypto::hex_encode(crypto::view(ca->sha256())));
    CHECK(authority(other.issue("me")).empty());
  }
}

TEST_CASE("certificates are reloaded for new connections, and a wrong one changes nothing") {
  Bench bench;
  bench.listen();
  const test::Pki next("next");
  const auto server = next.issue("server");
  CHECK_FALSE(bench.context->reload({"broken", Secret::copy_of(server.key), ""}));
  CHECK(test::fetch({bench.url("/"), bench.pki.ca(), {}, "", false, ""}).status == 200);
  CHECK(bench.context->reload({server.certificate, Secret::copy_of(server.key), next.ca()}));
  CHECK(test::fetch({bench.url("/"), bench.pki.ca(), {}, "", false, ""}).error != 0);
  CHECK(test::fetch({bench.url("/"), next.ca(), {}, "", false, ""}).status == 200);
}

TEST_CASE("a session is resumed with the verdict on its client, and by no other authorities") {
  Bench bench;
  const auto server = bench.pki.issue("server");
  const test::Pki other("other");
  const auto options = [&](const std::string& client_ca, char key) {
    return TlsServerOptions{server.certificate, Secret::copy_of(server.key), client_ca,
                            Secret::copy_of(std::string(32, key))};
  };
  bench.context = *TlsServerContext::create(options(bench.pki.ca(), 'k'));
  bench.listener =
      *Listener::tcp(bench.workers.loops(), "127.0.0.1:0", bench.context, {}, bench.factory());
  const auto client = [&](const test::Identity& identity) {
    return *TlsClientContext::create({bench.pki.ca(), identity.certificate,
                                      Secret::copy_of(identity.key), "localhost", "http/1.1"});
  };
  const auto ask = [&](const TlsClientContext& by, bool verified, int port) {
    const Guest guest(port, by);
    const auto wanted = fmt::format("tcp cert=true verified={} uid=-1", verified);
    CHECK_MESSAGE(guest.heard.find(wanted) != std::string::npos, guest.heard);
    return guest.resumed;
  };
  const auto known = client(bench.pki.issue("me"));
  CHECK_FALSE(ask(*known, true, bench.port()));
  CHECK(ask(*known, true, bench.port()));
  CHECK(ask(*known, true, bench.port())); // by the ticket of a session that was resumed

  const auto stranger = client(other.issue("me"));
  CHECK_FALSE(ask(*stranger, false, bench.port()));
  CHECK(ask(*stranger, false, bench.port()));

  SUBCASE("another listener with the same key resumes it: a replica, or the next start") {
    Bench next;
    next.context = *TlsServerContext::create(options(bench.pki.ca(), 'k'));
    next.listener =
        *Listener::tcp(next.workers.loops(), "127.0.0.1:0", next.context, {}, next.factory());
    CHECK(ask(*known, true, next.port()));
  }
  SUBCASE("with another key there is a whole handshake") {
    REQUIRE(bench.context->reload(options(bench.pki.ca(), 'n')));
    CHECK_FALSE(ask(*known, true, bench.port()));
    CHECK(ask(*known, true, bench.port()));
  }
  SUBCASE("and where the authorities are others the client is judged anew") {
    REQUIRE(bench.context->reload(options(other.ca(), 'k')));
    CHECK_FALSE(ask(*known, false, bench.port()));
    CHECK_FALSE(ask(*stranger, true, bench.port()));
  }
  SUBCASE("a session ends, however often it was resumed") {
    auto brief = options(bench.pki.ca(), 'b');
    brief.session_life = 2s;
    REQUIRE(bench.context->reload(brief));
    CHECK_FALSE(ask(*known, true, bench.port()));
    const auto begun = std::chrono::steady_clock::now();
    bool resumed = true; // each of these gives a new ticket
    while (resumed && std::chrono::steady_clock::now() - begun < 20s)
      resumed = ask(*known, true, bench.port());
    CHECK_FALSE(resumed);
    CHECK(ask(*known, true, bench.port())); // a new one began
  }
  SUBCASE("without a key none is resumed") {
    auto without = options(bench.pki.ca(), 'k');
    without.ticket_key = {};
    REQUIRE(bench.context->reload(without));
    CHECK_FALSE(ask(*known, true, bench.port()));
    CHECK_FALSE(ask(*known, true, bench.port()));
  }
}

TEST_CASE("connections are spread over the loops") {
  Bench bench(3);
  bench.listen();
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i)
    clients.emplace_back(
        [&] { test::fetch({bench.url("/wait"), bench.pki.ca(), {}, "", true, ""}); });
  bench.seen.wait_until([&] { return bench.seen.waiting.size() == 3; });
  {
    const std::lock_guard lock(bench.seen.mutex);
    CHECK(bench.seen.loops.size() == 3);
    for (auto& answer : bench.seen.waiting)
      answer();
  }
  for (auto& client : clients)
    client.join();
}

TEST_CASE("a Unix socket tells who is there, and a stale one is replaced") {
  const Directory directory;
  const auto path = directory.path / "zood.sock";
  Bench bench;
  const auto open = [&] {
    return Listener::unix(bench.workers.loops(), path, 0660, "", {}, bench.factory());
  };
  auto listener = open();
  REQUIRE(listener);
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0660);
  CHECK(test::fetch({"http://localhost/", "", {}, path.string(), false, ""}).body ==
        fmt::format("unix cert=false verified=false uid={}", ::getuid()));

  const auto second = open();
  REQUIRE_FALSE(second);
  CHECK(second.error().code() == Code::io);
  CHECK(second.error().message().find("another process answers on it") != std::string::npos);

  listener->reset();
  CHECK_FALSE(std::filesystem::exists(path));
  // What a killed process leaves: a bound socket that nobody holds.
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  ::close(dead);
  {
    const auto again = open();
    REQUIRE(again);
    CHECK(test::fetch({"http://localhost/", "", {}, path.string(), false, ""}).status == 200);
  }
  std::ofstream(path) << "a file";
  CHECK(open().error().message().find("is not a socket") != std::string::npos);
  CHECK(Listener::unix(bench.workers.loops(), directory.path / "x", 0660, "no-such-group-here", {},
                       bench.factory())
            .error()
            .message() == "there is no group named no-such-group-here");
  CHECK_FALSE(std::filesystem::exists(directory.path / "x"));
  CHECK_FALSE(
      Listener::unix(bench.workers.loops(), std::string(200, 'x'), 0660, "", {}, bench.factory()));
}

namespace {

/// From now on, for the calling thread: chown() and its kin fail, as under systemd's
/// SystemCallFilter=~@privileged.
void refuse_chown() {
  std::vector<sock_filter> program{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
  for (const unsigned number : {
#ifdef __NR_chown
           unsigned(__NR_chown), unsigned(__NR_lchown),
#endif
           unsigned(__NR_fchown), unsigned(__NR_fchownat)}) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

} // namespace

TEST_CASE("a Unix socket of the process's own group needs no chown") {
  const Directory directory;
  const auto path = directory.path / "zood.sock";
  const auto* own = ::getgrgid(::getegid());
  REQUIRE(own != nullptr);
  const std::string group = own->gr_name;
  const gid_t other = ::getegid() == 0 ? 1 : 0;
  const auto* foreign = ::getgrgid(other);
  REQUIRE(foreign != nullptr);
  const std::string foreign_group = foreign->gr_name;
  Bench bench;
  std::thread([&] { // a filter is for ever: a thread of its own
    refuse_chown();
    const auto open = [&](const std::string& name) {
      return Listener::unix(bench.workers.loops(), path, 0660, name, {}, bench.factory());
    };
    CHECK(::lchown(directory.path.c_str(), static_cast<uid_t>(-1), ::getegid()) == -1);
    CHECK(open(group));
    const auto refused = open(foreign_group);
    CHECK((refused ? "" : refused.error().message()) ==
          fmt::format("cannot give {} to group {}: Operation not permitted: start zood as a member "
                      "of that group",
                      path.string(), foreign_group));
    CHECK_FALSE(std::filesystem::exists(path));
  })
      .join();
}

TEST_CASE("a taken port and a wrong address are one sentence") {
  Bench bench;
  bench.listen();
  const auto taken =
      Listener::tcp(bench.workers.loops(), bench.listener->address(), nullptr, {}, bench.factory());
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code() == Code::io);
  CHECK(taken.error().message() ==
        "cannot listen on " + bench.listener->address() + ": Address already in use");
  for (const auto* wrong : {"127.0.0.1", "host:80", "127.0.0.1:x", "127.0.0.1:70000", ""})
    CHECK(
        Listener::tcp(bench.workers.loops(), wrong, nullptr, {}, bench.factory()).error().code() ==
        Code::invalid);
}

TEST_CASE("drain: open requests end, idle connections go, new ones are refused") {
  for (const bool http2 : {false, true}) {
    Bench bench;
    bench.listen();
    std::promise<test::Fetched> fetched;
    std::thread client([&] {
      fetched.set_value(test::fetch({bench.url("/wait"), bench.pki.ca(), {}, "", http2, ""}));
    });
    bench.seen.wait_until([&] { return bench.seen.waiting.size() == 1; });
    std::promise<void> drained;
    auto done = drained.get_future();
    bench.listener->drain({0ms, 20s}, [&] { drained.set_value(); });
    CHECK(done.wait_for(100ms) == std::future_status::timeout); // it still waits for the answer
    CHECK(test::fetch({bench.url("/"), bench.pki.ca(), {}, "", http2, ""}).error == 7);
    bench.seen.waiting[0]();
    CHECK(fetched.get_future().get().body == "waited");
    CHECK(done.wait_for(20s) == std::future_status::ready);
    CHECK(bench.listener->connections() == 0);
    client.join();
  }
}

TEST_CASE("drain: what would last ends in order, each connection at a moment of its own") {
  for (const bool http2 : {false, true}) {
    Bench bench;
    bench.listen();
    constexpr int k_clients = 6;
    std::vector<std::thread> clients;
    std::vector<test::Fetched> got(k_clients);
    for (int i = 0; i < k_clients; ++i)
      clients.emplace_back([&, i] {
        got[i] = test::fetch({bench.url("/watch"), bench.pki.ca(), {}, "", http2, ""});
      });
    bench.seen.wait_until([&] { return bench.seen.watches == k_clients; });
    std::promise<void> drained;
    bench.listener->drain({300ms, 20s}, [&] { drained.set_value(); });
    CHECK(drained.get_future().wait_for(20s) == std::future_status::ready);
    for (auto& client : clients)
      client.join();
    for (const auto& each : got) {
      CHECK(each.error == 0);
      CHECK(each.body == "told");
    }
    CHECK(bench.seen.resets == 0);
  }
}

TEST_CASE("drain: who connected just before is served") {
  Bench bench;
  bench.listen({}, false);
  const int early = test::connect_to(bench.port());
  std::promise<void> drained;
  bench.listener->drain({0ms, 20s}, [&] { drained.set_value(); });
  const std::string request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
  ::send(early, request.data(), request.size(), 0);
  std::string answer;
  char bytes[1024];
  for (ssize_t count = 0; (count = ::recv(early, bytes, sizeof(bytes), 0)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(count));
  ::close(early);
  CHECK(answer.starts_with("HTTP/1.1 200"));
  CHECK(drained.get_future().wait_for(20s) == std::future_status::ready);
}

TEST_CASE("drain: what is left at the deadline is cut") {
  Bench bench;
  bench.listen();
  std::thread client([&] {
    CHECK(test::fetch({bench.url("/wait"), bench.pki.ca(), {}, "", true, ""}).error != 0);
  });
  bench.seen.wait_until([&] { return bench.seen.waiting.size() == 1; });
  std::promise<void> drained;
  bench.listener->drain({0ms, 50ms}, [&] { drained.set_value(); });
  drained.get_future().get();
  client.join();
  CHECK(bench.seen.resets == 1);
}

TEST_CASE("a client that goes away resets its streams") {
  Bench bench;
  bench.listen({}, false);
  const int socket = test::connect_to(bench.port());
  const std::string request = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n";
  ::send(socket, request.data(), request.size(), 0);
  bench.seen.wait_until([&] { return bench.seen.waiting.size() == 1; });
  ::close(socket);
  bench.seen.wait_until([&] { return bench.seen.open == 0; });
  CHECK(bench.seen.resets == 1);
}

TEST_CASE("a handler that throws costs its connection, and nothing else") {
  Bench bench(1);
  bench.listen({}, false);
  CHECK(test::talk(bench.port(), "GET /throw HTTP/1.1\r\nHost: h\r\n\r\n").empty());
  bench.seen.wait_until([&] { return bench.seen.open == 0; });
  CHECK(bench.seen.resets == 1);
  CHECK(test::talk(bench.port(), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 200"));
}

TEST_CASE("clocks: handshake, head, body and idle end a connection") {
  Bench bench;
  ListenerLimits limits;
  limits.handshake = limits.head = limits.body = limits.idle = 100ms;
  bench.listen(limits);
  CHECK(test::talk(bench.port(), "").empty()); // never begins TLS

  Bench plain;
  plain.listen(limits, false);
  CHECK(test::talk(plain.port(), "").empty());
  CHECK(test::talk(plain.port(), "GET / HTTP/1.1\r\nHo").empty());
  CHECK(test::talk(plain.port(), "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab")
            .empty());
  CHECK(test::talk(plain.port(), "GET / HTTP/1.1\r\nHost: h\r\n\r\n").ends_with("0\r\n\r\n"));
  const auto refused = test::talk(plain.port(), "nonsense\r\n\r\n" + std::string(100'000, 'x'));
  CHECK(refused.starts_with("HTTP/1.1 400"));
  CHECK(refused.ends_with("\"code\":400}"));
}

TEST_CASE("an answer before the request's end reaches a client that sends on") {
  Bench bench(1);
  bench.listen();
  const auto client = bench.pki.issue("client");
  for (const bool http2 : {true, false}) {
    const auto got = test::fetch(
        {bench.url("/early"), bench.pki.ca(), client, "", http2, std::string(8'000'000, 'b')});
    CHECK(got.error == 0);
    CHECK(got.status == 413);
    CHECK(got.body == "too much");
  }
}

namespace {

/// Sends a head that says so, and a body of `bytes`, then reads what there is. How much was sent.
std::size_t send_all_then_read(int port, std::size_t bytes, std::string& answer) {
  const int socket = test::connect_to(port);
  const auto head =
      fmt::format("POST /early HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", bytes);
  ::send(socket, head.data(), head.size(), MSG_NOSIGNAL);
  const std::string piece(100'000, 'b');
  std::size_t sent = 0;
  while (sent < bytes) {
    const auto count = ::send(socket, piece.data(), piece.size(), MSG_NOSIGNAL);
    if (count <= 0) break;
    sent += static_cast<std::size_t>(count);
  }
  char buffer[4'096];
  for (ssize_t count = 0; (count = ::recv(socket, buffer, sizeof(buffer), 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(count));
  ::close(socket);
  return sent;
}

} // namespace

TEST_CASE("what is read after an answer that came before the request's end is bounded") {
  constexpr std::size_t k_body = 20'000'000;
  ListenerLimits limits;
  for (const bool much : {true, false}) {
    if (!much) limits.http.discard_bytes = 100'000;
    Bench bench(1);
    bench.listen(limits, false);
    std::string answer;
    const auto sent = send_all_then_read(bench.port(), k_body, answer);
    CHECK((sent >= k_body) == much);
    if (much) CHECK(answer.ends_with("too much\r\n0\r\n\r\n"));
  }
}

TEST_CASE("a client that does not close a tunnel that is over loses its connection") {
  Bench bench(1);
  ListenerLimits limits;
  limits.tunnel = 100ms;
  bench.listen(limits, false);
  const int socket = test::connect_to(bench.port());
  const std::string_view request =
      "GET /tunnel HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n";
  ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char buffer[512];
  for (ssize_t count = 0; (count = ::recv(socket, buffer, sizeof(buffer), 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(count));
  CHECK(answer.ends_with("over"));
  bench.seen.wait_until([&] { return bench.seen.open == 0; });
  ::close(socket);
}

TEST_CASE("records without data, by the thousand, end a connection") {
  // OpenSSL writes to a socket whose other end may be gone by then.
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const std::shared_ptr<void> after(nullptr, [&](void*) { std::signal(SIGPIPE, before); });
  Bench bench(1);
  bench.listen();
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                                  SSL_CTX_free);
  const auto answers_after = [&](int updates) {
    const int socket = test::connect_to(bench.port());
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), SSL_free);
    SSL_set_fd(tls.get(), socket);
    REQUIRE(SSL_connect(tls.get()) == 1);
    bool open = true;
    for (int i = 0; i < updates && open; ++i) {
      open = SSL_key_update(tls.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
             SSL_do_handshake(tls.get()) == 1;
    }
    const std::string_view request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    open = open && SSL_write(tls.get(), request.data(), static_cast<int>(request.size())) > 0;
    char answer[16] = {};
    open = open && SSL_read(tls.get(), answer, 12) > 0;
    ::close(socket);
    return open && std::string_view(answer).starts_with("HTTP/1.1 200");
  };
  CHECK(answers_after(0));
  CHECK(answers_after(1'000)); // 27 bytes each
  CHECK_FALSE(answers_after(10'000));
  CHECK(answers_after(1));
}

TEST_CASE("more connections than allowed are closed at once") {
  Bench bench(1);
  ListenerLimits limits;
  limits.connections = 1;
  bench.listen(limits, false);
  const int first = test::connect_to(bench.port());
  const std::string request = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n";
  ::send(first, request.data(), request.size(), 0);
  bench.seen.wait_until([&] { return bench.seen.waiting.size() == 1; });
  CHECK(test::talk(bench.port(), "").empty());
  ::close(first);
}

TEST_CASE("the longest idle connection makes room for a new one, strangers first") {
  Bench bench(1);
  ListenerLimits limits;
  limits.connections = 3;
  bench.listen(limits, false);
  const std::string request = "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n";
  const auto ask = [&](std::size_t nth) {
    const int socket = test::connect_to(bench.port());
    ::send(socket, request.data(), request.size(), 0);
    bench.seen.wait_until([&] { return bench.seen.waiting.size() == nth; });
    return socket;
  };
  const auto read = [](int socket) {
    char byte = 0;
    return ::recv(socket, &byte, 1, 0);
  };
  const int served = ask(1);
  bench.seen.waiting[0]();
  CHECK(read(served) == 1); // it was answered, and is idle for longest
  const int busy = ask(2);
  const int stranger = test::connect_to(bench.port());
  const int first = ask(3);
  CHECK(read(stranger) == 0);
  CHECK(read(served) == 1);
  const int second = ask(4);
  while (read(served) == 1) {
  }
  CHECK(read(served) <= 0);
  bench.seen.waiting[1]();
  CHECK(read(busy) == 1); // one with a stream never goes
  for (const int socket : {served, busy, stranger, first, second})
    ::close(socket);
}

TEST_CASE("who does not wait when told to is read no more, and nobody else notices") {
  const std::string busy = "GET /busy HTTP/1.1\r\nHost: h\r\n\r\n";
  const auto answered = [](int socket) {
    std::string answer;
    char byte = 0;
    while (!answer.ends_with("\r\n\r\n") && ::recv(socket, &byte, 1, 0) == 1)
      answer += byte;
    return answer.starts_with("HTTP/1.1 429");
  };
  ListenerLimits limits;
  limits.refusals = 3;
  for (const auto hold : {std::chrono::milliseconds(3'600'000), 20ms}) {
    CAPTURE(hold.count());
    limits.refused_least = limits.refused_most = hold;
    Bench bench(1);
    bench.listen(limits, false);
    const int socket = test::connect_to(bench.port());
    for (int n = 0; n < 3; ++n) {
      ::send(socket, busy.data(), busy.size(), 0);
      REQUIRE(answered(socket));
    }
    ::send(socket, busy.data(), busy.size(), 0);
    for (int n = 0; n < 20; ++n)
      REQUIRE(test::talk(bench.port(), "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 200"));
    if (hold > 1h - 1s) {
      const std::lock_guard lock(bench.seen.mutex);
      CHECK(bench.seen.refused == 3);
    } else { // and then it is heard again, and again held
      CHECK(answered(socket));
      for (int n = 0; n < 10; ++n) {
        ::send(socket, busy.data(), busy.size(), 0);
        REQUIRE(answered(socket));
      }
    }
    ::close(socket);
  }
}

TEST_CASE("a listener may go while clients are busy") {
  Bench bench;
  bench.listen();
  std::thread client([&] {
    CHECK(test::fetch({bench.url("/wait"), bench.pki.ca(), {}, "", true, ""}).error != 0);
  });
  bench.seen.wait_until([&] { return bench.seen.waiting.size() == 1; });
  bench.listener.reset();
  CHECK(bench.seen.open == 0);
  client.join();
}
