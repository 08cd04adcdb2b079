// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/transport.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

using namespace zoo;
using namespace zoo::net;
using namespace std::chrono_literals;

namespace {

using Ends = std::array<file::Fd, 2>;

Ends unix_pair() {
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) == 0);
  return {file::Fd(pair[0]), file::Fd(pair[1])};
}

Ends tcp_pair() {
  const file::Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const where = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(listener.get(), where, size) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), where, &size) == 0);
  file::Fd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(far.get(), where, size) == 0);
  file::Fd near(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  REQUIRE(near);
  return {std::move(near), std::move(far)};
}

/// One end of a pair of plain sockets as a Transport; the other is the test's.
struct Pair final : TransportHandler {
  Loop loop;
  file::Fd far;
  std::unique_ptr<Transport> transport;
  std::string heard;
  bool open = false, ended = false, written = false;
  std::optional<Error> failure;

  explicit Pair(Ends ends = unix_pair()) : far(std::move(ends[1])) {
    transport = Transport::accept(loop, std::move(ends[0]), nullptr, *this);
  }

  /// Lets the loop run until `done` says so, asked each millisecond, or twenty seconds. Once.
  bool run(const std::function<bool()>& done) {
    bool in_time = true;
    Timer deadline(loop), look(loop);
    std::function<void()> again = [&] {
      if (done()) return loop.stop();
      look.start(1ms, again);
    };
    deadline.start(20s, [&] {
      in_time = false;
      loop.stop();
    });
    again();
    loop.run();
    return in_time;
  }

  void give(std::string_view bytes) const {
    REQUIRE(::send(far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  std::string take() const {
    std::string out;
    std::array<char, 4096> bytes{};
    for (;;) {
      const auto count = ::recv(far.get(), bytes.data(), bytes.size(), 0);
      if (count <= 0) return out;
      out.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }

private:
  void on_open() override { open = true; }
  void on_read(std::string_view bytes) override { heard += bytes; }
  void on_read_end() override { ended = true; }
  void on_written() override { written = true; }
  void on_failure(Error error) override { failure = std::move(error); }
};

} // namespace

TEST_CASE("of bytes that stay the caller's, what the socket does not take is kept in order") {
  Pair pair;
  std::string sent, got;
  for (int n = 0; sent.size() < 4u << 20; ++n)
    sent += std::to_string(n) + ' ';
  bool begun = false;
  CHECK(pair.run([&] {
    if (!pair.open) return false;
    if (!std::exchange(begun, true)) {
      auto passing = sent;
      pair.transport->write_view(passing);
      CHECK(pair.transport->unsent() > 0); // no socket takes four megabytes
      CHECK(pair.transport->unsent() < sent.size());
      passing.assign(passing.size(), 'x'); // the caller has its bytes back
      pair.transport->write_view("behind");
    }
    got += pair.take();
    return pair.written && got.size() >= sent.size() + 6;
  }));
  CHECK(got == sent + "behind");
  CHECK_FALSE(pair.failure);
}

TEST_CASE("what comes while it is deaf is heard once it is read again, and so is the end") {
  for (const bool ends : {false, true}) {
    CAPTURE(ends);
    Pair pair;
    int step = 0;
    CHECK(pair.run([&] {
      if (step == 0 && pair.open) {
        pair.transport->read(true);
        pair.give("a");
        ++step;
      } else if (step == 1 && pair.heard == "a") {
        pair.transport->deafen();
        pair.give("b");
        if (ends) pair.far = file::Fd();
        ++step;
      } else if (step >= 2 && step < 5) { // some turns, in which nothing may be read
        CHECK(pair.heard == "a");
        CHECK_FALSE(pair.ended);
        ++step;
      } else if (step == 5) {
        pair.transport->read(true);
        ++step;
      } else if (step == 6 && pair.heard == "ab" && pair.ended == ends) {
        if (!ends) pair.give("c"); // it hears as it did before
        ++step;
      }
      return step == 7 && (ends || pair.heard == "abc");
    }));
    CHECK_FALSE(pair.failure);
  }
}

TEST_CASE(
    "what is gathered comes whole, be its last piece small, and so does what follows slowly") {
  Pair pair(tcp_pair());
  std::string sent;
  int step = 0;
  const auto give = [&](const std::string& bytes) {
    pair.give(bytes);
    sent += bytes;
  };
  CHECK(pair.run([&] {
    if (!pair.open) return false;
    const bool paused = step > 41 && step < 46;
    if (!paused && pair.heard != sent) return false; // nothing is given until all was heard
    if (step == 48) return pair.ended;
    if (step == 0) {
      pair.transport->read(true);
      pair.transport->gather(true);
    } else if (step <= 20) {
      give(std::string(24 * 1024, static_cast<char>('a' + step)) + "tail");
    } else if (step <= 40) {
      give(std::to_string(step));
    } else if (step == 41) {
      pair.transport->read(false);
      give("later");
    } else if (step < 45) { // some turns, in which nothing may be read
      CHECK(pair.heard.size() + 5 == sent.size());
    } else if (step == 45) {
      pair.transport->read(true);
    } else if (step == 46) {
      pair.transport->gather(false);
      give("no more");
    } else if (step == 47) {
      pair.far = file::Fd();
    }
    ++step;
    return false;
  }));
  CHECK((pair.heard == sent)); // half a megabyte is not printed
  CHECK_FALSE(pair.failure);
}
