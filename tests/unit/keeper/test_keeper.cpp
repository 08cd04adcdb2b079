// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/client.hpp"
#include "daemon/keeper/keeper.hpp"
#include "tests/unit/keeper/world.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

using namespace zoo;
using namespace zoo::keeper;
using Verb = Request::Verb;

namespace {

/// A keeper on a thread. It ends as by SIGTERM, or as by SIGINT with all processes.
struct RunningKeeper {
  std::unique_ptr<Keeper> keeper;
  file::Fd signals;
  std::thread thread;
  int ends_by;

  RunningKeeper(const test::KeeperWorld& world, int signal, KeeperOptions options = {})
      : ends_by(signal) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGTERM);
    ::sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals = file::Fd(::signalfd(-1, &set, SFD_CLOEXEC));
    options.directory = world.directory.path() / "clusters";
    options.binaries = world.binaries;
    auto opened = Keeper::open(options);
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().text()));
    keeper = *std::move(opened);
    thread = std::thread([this] { keeper->run(signals.get()); });
  }
  ~RunningKeeper() {
    if (!told) tell();
    thread.join();
  }
  bool told = false;
  void tell() {
    told = true;
    ::pthread_kill(thread.native_handle(), ends_by);
  }
};

/// Sending gives up after half a minute.
file::Fd connection_to(const test::KeeperWorld& world) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = (world.directory.path() / "clusters" / "keeper.sock").string();
  std::memcpy(address.sun_path, path.c_str(), path.size());
  file::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{30, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  return socket;
}

/// The error that ends it; 0: all was sent.
int send_all(const file::Fd& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto size = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return 0;
}

Request request(Verb verb, std::string id = "abc123", bool wish = false) {
  Request out;
  out.verb = verb;
  out.id = std::move(id);
  out.wish = wish;
  return out;
}

} // namespace

TEST_CASE("a keeper does what it is asked, and the next one goes on") {
  const test::KeeperWorld world;
  const Client client(world.directory.path() / "clusters" / "keeper.sock");
  CHECK(client.ask(request(Verb::state)).error().code() == Code::unavailable);
  const auto ready = [&client] {
    const auto reply = client.ask(request(Verb::state));
    return reply && reply->states.at(0).ready();
  };
  std::int64_t pid = 0;
  {
    const RunningKeeper keeper(world, SIGTERM);
    CHECK(client.ask(request(Verb::state)).error().code() == Code::not_found);
    CHECK(client.ask(request(Verb::memory))->available > 0);
    auto second = Keeper::open({world.directory.path() / "clusters", world.binaries, {}, 2});
    CHECK(second.error().message().find("another keeper has") == 0);
    Request put = request(Verb::put);
    put.plan = test::KeeperWorld::plan();
    REQUIRE(client.ask(put));
    REQUIRE(test::until(ready, [] {}));
    pid = client.ask(request(Verb::state))->states[0].components[0].pid;
  }
  REQUIRE(::kill(static_cast<pid_t>(pid), 0) == 0); // after SIGTERM they run on
  const RunningKeeper keeper(world, SIGINT);
  REQUIRE(test::until(ready, [] {}));
  CHECK(client.ask(request(Verb::state))->states[0].components[0].pid == pid);

  std::mutex mutex;
  std::vector<std::string> heard;
  bool gone = false;
  std::jthread watch([&](const std::stop_token& stop) {
    [[maybe_unused]] const auto over =
        client.watch(stop, [&](const PlanState& state, bool removed) {
          const std::scoped_lock lock(mutex);
          heard.push_back(state.id);
          gone = gone || removed;
        });
  });
  const auto heard_it = [&] {
    const std::scoped_lock lock(mutex);
    return !heard.empty();
  };
  REQUIRE(test::until(heard_it, [] {}));
  REQUIRE(client.ask(request(Verb::remove)));
  CHECK(test::until(
      [&] {
        const std::scoped_lock lock(mutex);
        return gone;
      },
      [] {}));
  CHECK(client.ask(request(Verb::remove))->removed);
  CHECK_FALSE(std::filesystem::exists(world.directory.path() / "clusters" / "abc123" / "keeper"));
}

TEST_CASE("a keeper that ends with all that it keeps starts nothing, whoever wishes it") {
  const test::KeeperWorld world;
  const Client client(world.directory.path() / "clusters" / "keeper.sock");
  RunningKeeper keeper(world, SIGINT);
  Request put = request(Verb::put);
  put.plan = test::KeeperWorld::plan();
  // The second component takes as long to end as it takes to ask for it again.
  put.plan.components[1].arguments[1] =
      "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" +
      put.plan.components[1].arguments[1];
  REQUIRE(client.ask(put));
  REQUIRE(test::until(
      [&client] {
        const auto reply = client.ask(request(Verb::state));
        return reply && reply->states.at(0).ready();
      },
      [] {}));
  const auto pid = client.ask(request(Verb::state))->states[0].components[1].pid;
  keeper.tell();
  REQUIRE(test::until(
      [&client] {
        const auto reply = client.ask(request(Verb::state));
        return reply && !reply->states.at(0).run;
      },
      [] {}));
  const auto refused = client.ask(put);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::unavailable);
  CHECK(refused.error().message().find("ends, with all that it has started") != std::string::npos);
  CHECK(client.ask(request(Verb::run, "abc123", true)).error().code() == Code::unavailable);
  CHECK_FALSE(client.ask(request(Verb::state))->states[0].run);
  REQUIRE(::kill(static_cast<pid_t>(pid), SIGKILL) == 0);
  // Its destructor waits until nothing runs.
}

TEST_CASE("a line that never ends is told so and cut off") {
  const test::KeeperWorld world;
  const RunningKeeper keeper(world, SIGINT);
  const auto socket = connection_to(world);
  const std::string much(k_longest_line + 1, 'x');
  std::size_t sent = 0;
  while (sent < much.size()) {
    const auto size = ::send(socket.get(), much.data() + sent, much.size() - sent, MSG_NOSIGNAL);
    if (size <= 0) break;
    sent += static_cast<std::size_t>(size);
  }
  std::string said;
  char bytes[1'024];
  for (;;) {
    const auto size = ::recv(socket.get(), bytes, sizeof(bytes), 0);
    if (size <= 0) break;
    said.append(bytes, static_cast<std::size_t>(size));
  }
  CHECK(said.find("the line is too long") != std::string::npos);
}

TEST_CASE("a client that reads nothing is cut off, and holds no connection for ever") {
  const test::KeeperWorld world;
  KeeperOptions options;
  options.last_words = std::chrono::milliseconds(200);
  const RunningKeeper keeper(world, SIGINT, options);
  const auto socket = connection_to(world);
  const auto line = text_of(request(Verb::state));
  const auto is_closed = [&socket] {
    pollfd asked{socket.get(), 0, 0};
    return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLHUP) != 0;
  };
  SUBCASE("when it has asked for more than is kept for it") {
    std::string lines;
    for (int i = 0; i < 1'000; ++i)
      lines += line;
    int error = 0;
    for (int i = 0; error == 0 && i < 1'000; ++i)
      error = send_all(socket, lines);
    CHECK((error == EPIPE || error == ECONNRESET));
  }
  SUBCASE("when it has said that it asks for nothing more") {
    std::string lines; // more answers than the socket takes, and fewer than are kept
    for (int i = 0; i < 6'000; ++i)
      lines += line;
    REQUIRE(send_all(socket, lines) == 0);
    REQUIRE(::shutdown(socket.get(), SHUT_WR) == 0);
    CHECK(test::until(is_closed, [] {}));
  }
  // Who reads is answered all the while.
  const Client client(world.directory.path() / "clusters" / "keeper.sock");
  CHECK(client.ask(request(Verb::state)).error().code() == Code::not_found);
}

TEST_CASE("what a client has asked for is sent, though it asks for nothing more") {
  const test::KeeperWorld world;
  const RunningKeeper keeper(world, SIGINT);
  const auto socket = connection_to(world);
  constexpr std::size_t k_times = 6'000;
  std::string lines;
  for (std::size_t i = 0; i < k_times; ++i)
    lines += text_of(request(Verb::state));
  REQUIRE(send_all(socket, lines) == 0);
  REQUIRE(::shutdown(socket.get(), SHUT_WR) == 0);
  std::size_t answers = 0;
  char bytes[16 * 1024];
  for (;;) {
    const auto size = ::recv(socket.get(), bytes, sizeof(bytes), 0);
    if (size <= 0) break;
    answers += static_cast<std::size_t>(std::count(bytes, bytes + size, '\n'));
  }
  CHECK(answers == k_times);
}
