// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/socket.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <utility>

using namespace zoo;
using namespace zoo::net;
using namespace std::chrono_literals;

namespace {

struct Ear final : SocketHandler {
  std::function<void()> hears;
  int times = 0;
  void on_ready() override {
    ++times;
    if (hears) hears();
  }
};

std::pair<file::Fd, file::Fd> connected() {
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()) == 0);
  return {file::Fd(pair[0]), file::Fd(pair[1])};
}

void give(const file::Fd& to, std::string_view bytes) {
  REQUIRE(::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

/// Lets the loop run until `holds`, or twenty seconds.
bool runs_until(Loop& loop, const std::function<bool()>& holds) {
  bool in_time = true;
  Timer deadline(loop), look(loop);
  std::function<void()> again = [&] {
    if (holds()) return loop.stop();
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

} // namespace

TEST_CASE("a socket that has nothing is not asked, and tells when it has something again") {
  Loop loop;
  auto [near, far] = connected();
  Ear ear;
  Socket socket(loop, ear);
  std::string got;
  int empty = 0;
  ear.hears = [&] {
    std::array<char, 8> bytes{};
    for (;;) {
      const auto count = socket.receive(bytes.data(), bytes.size());
      if (count <= 0) {
        CHECK(errno == EAGAIN);
        CHECK_FALSE(socket.readable());
        ++empty;
        if (got == "0123456789") give(far, "abc"); // comes as a change, after all was read
        return;
      }
      got.append(bytes.data(), static_cast<std::size_t>(count));
    }
  };
  REQUIRE(socket.open(std::move(near)));
  CHECK_FALSE(socket.readable()); // nobody has told yet
  give(far, "0123456789");
  CHECK(runs_until(loop, [&] { return got == "0123456789abc"; }));
  CHECK(empty >= 2);
}

TEST_CASE("a socket that does not hear wakes nobody for what comes, but for its end") {
  Loop loop;
  auto [near, far] = connected();
  auto [near_marker, far_marker] = connected();
  Ear ear, marker;
  Socket socket(loop, ear), beside(loop, marker);
  REQUIRE(socket.open(std::move(near)));
  REQUIRE(beside.open(std::move(near_marker)));
  std::array<char, 8> bytes{};
  int step = 0;
  CHECK(runs_until(loop, [&] {
    if (step == 0 && ear.times == 1 && marker.times == 1) { // both are writable
      socket.hear(false);
      ++step;
    } else if (step == 1 && ear.times == 2) { // which is told once more then
      give(far, "abc");
      give(far_marker, "x"); // told after what came first
      ++step;
    } else if (step == 2 && marker.times == 2) {
      CHECK(ear.times == 2);
      CHECK_FALSE(socket.readable());
      socket.hear(true);
      ++step;
    } else if (step == 3 && socket.readable()) {
      CHECK(socket.receive(bytes.data(), bytes.size()) == 3);
      CHECK_FALSE(socket.readable());
      give(far, "defg");
      ++step;
    } else if (step == 4 && socket.readable()) {
      CHECK(socket.receive(bytes.data(), bytes.size()) == 4);
      socket.hear(false);
      far = file::Fd();
      ++step;
    } else if (step == 5 && socket.readable()) {
      CHECK(socket.receive(bytes.data(), bytes.size()) == 0);
      ++step;
    }
    return step == 6;
  }));
}

TEST_CASE("an end is seen whether it comes with the last bytes or after them") {
  for (const bool together : {true, false}) {
    CAPTURE(together);
    Loop loop;
    auto [near, far] = connected();
    Ear ear;
    Socket socket(loop, ear);
    std::string got;
    bool ended = false;
    ear.hears = [&] {
      std::array<char, 8> bytes{};
      for (;;) {
        const auto count = socket.receive(bytes.data(), bytes.size());
        if (count < 0 && !together && !got.empty()) ::shutdown(far.get(), SHUT_WR);
        if (count < 0) return;
        if (count == 0) {
          ended = true;
          return;
        }
        got.append(bytes.data(), static_cast<std::size_t>(count));
      }
    };
    give(far, "abc");
    if (together) ::shutdown(far.get(), SHUT_WR);
    REQUIRE(socket.open(std::move(near)));
    CHECK(runs_until(loop, [&] { return ended; }));
    CHECK(got == "abc");
  }
}

TEST_CASE("a socket that takes no more tells when it does again") {
  Loop loop;
  auto [near, far] = connected();
  Ear ear;
  Socket socket(loop, ear);
  const std::string chunk(64 * 1024, 'x');
  std::size_t sent = 0, got = 0;
  bool full = false;
  ear.hears = [&] {
    while (sent < 8u << 20) {
      const auto count = socket.send(chunk.data(), chunk.size());
      if (count < 0) {
        CHECK(errno == EAGAIN);
        CHECK_FALSE(socket.writable());
        full = true;
        return;
      }
      sent += static_cast<std::size_t>(count);
    }
  };
  REQUIRE(socket.open(std::move(near)));
  std::string bytes(1u << 20, '\0');
  CHECK(runs_until(loop, [&] {
    const auto count = ::recv(far.get(), bytes.data(), bytes.size(), 0);
    if (count > 0) got += static_cast<std::size_t>(count);
    return sent >= 8u << 20 && got == sent;
  }));
  CHECK(full);
}

TEST_CASE(
    "of two that are ready in one turn the first may destroy the second, and have its place") {
  Loop loop;
  auto [first_near, first_far] = connected();
  auto [second_near, second_far] = connected();
  auto [third_near, third_far] = connected();
  Ear ears[2], late;
  std::optional<Socket> sockets[2];
  std::optional<Socket> heir;
  int heard = 0;
  for (const int i : {0, 1}) {
    sockets[i].emplace(loop, ears[i]);
    ears[i].hears = [&, i] {
      ++heard;
      sockets[1 - i].reset();
      ears[1 - i].hears = nullptr;
      heir.emplace(loop, late);
      REQUIRE(heir->open(std::move(third_near))); // where the other one was
    };
  }
  give(first_far, "a");
  give(second_far, "b");
  REQUIRE(sockets[0]->open(std::move(first_near)));
  REQUIRE(sockets[1]->open(std::move(second_near)));
  late.hears = [&] {
    CHECK(heard == 1);
    CHECK_FALSE(heir->readable()); // that was the other's
    CHECK(heir->writable());
  };
  CHECK(runs_until(loop, [&] { return late.times > 0; }));
  CHECK(ears[0].times + ears[1].times == 1);
}

TEST_CASE("very many tasks let the sockets have their turn before all have run") {
  constexpr int k_tasks = 400;
  Loop loop;
  Ear ear;
  Socket socket(loop, ear);
  auto [here, there] = connected();
  REQUIRE(socket.open(std::move(here)));
  int ran = 0, ran_before = -1;
  ear.hears = [&] {
    if (ran > 0 && ran_before < 0) ran_before = ran;
  };
  loop.post([&] {
    for (int n = 0; n < k_tasks; ++n)
      loop.post([&] {
        if (ran++ == 0) give(there, "x");
        const auto end = std::chrono::steady_clock::now() + 200us;
        while (std::chrono::steady_clock::now() < end) {
        }
      });
  });
  CHECK(runs_until(loop, [&] { return ran == k_tasks; }));
  CHECK(ran == k_tasks);
  CHECK(ran_before > 0);
  CHECK(ran_before < k_tasks);
}
