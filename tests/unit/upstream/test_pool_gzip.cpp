// SPDX-License-Identifier: Apache-2.0
#include "common/base/gzip.hpp"
#include "pool_bench.hpp"

#include <algorithm>
#include <mutex>

using namespace zoo;
using namespace zoo::upstream;
using namespace zoo::upstream::pool_test;

namespace {

CallOptions as_gzip() {
  CallOptions options;
  options.encoding = CallOptions::Encoding::gzip;
  return options;
}

/// `bytes` as an answer in chunks of `step`.
std::string gzip_answer(std::string_view bytes, std::size_t step) {
  std::string out = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"
                    "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    const auto part = bytes.substr(0, step);
    out += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
  }
  return out + "0\r\n\r\n";
}

/// A megabyte that does not become short.
std::string long_text() {
  std::string out;
  for (unsigned i = 0; out.size() < 1'000'000; ++i)
    out += std::to_string(i * 2654435761U);
  return out;
}

} // namespace

TEST_CASE("an answer that comes as gzip is opened, and its connection is used again") {
  const auto text = long_text();
  const auto packed = gzip::whole(text);
  for (const std::size_t step : {std::size_t{7}, std::size_t{5000}, packed.size()}) {
    CAPTURE(step);
    std::string asked_for;
    Bench bench([&](Connection& connection, int) {
      for (std::string head; !(head = connection.read_head()).empty();) {
        asked_for = head;
        connection.write(gzip_answer(packed, step));
      }
    });
    for (int i = 0; i < 2; ++i) {
      auto& asked = bench.ask("GET", as_gzip());
      CHECK(asked_for.find("Accept-Encoding: gzip\r\n") != std::string::npos);
      CHECK(asked.ended);
      CHECK(asked.body == text);
      for (const auto* name : {"content-encoding", "content-length", "vary"})
        CHECK_FALSE(asked.headers.has(name));
      CHECK(asked.headers.get("content-type") == "text/plain");
    }
    CHECK(bench.server.connections() == 1);
    auto& as_it_is = bench.ask("GET"); // nobody said that he would open it
    CHECK(asked_for.find("Accept-Encoding: identity\r\n") != std::string::npos);
    CHECK(as_it_is.headers.get("content-encoding") == "gzip");
    CHECK(as_it_is.body == packed);
  }
}

TEST_CASE("what comes as gzip stops where its call is paused, and goes on from there") {
  const std::string text(1'000'000, 'x'); // all of it is there with the first bytes
  Bench bench(always(gzip_answer(gzip::whole(text), 4096)));
  std::size_t pauses = 0, most = 0;
  auto& asked = bench.start("GET", as_gzip(), [&](Asked& each) {
    each.at_data = [&, before = std::size_t{0}](Asked& self) mutable {
      most = std::max(most, self.body.size() - std::exchange(before, self.body.size()));
      self.call->pause();
      ++pauses;
      bench.loop().post([&self] { self.call->resume(); });
    };
  });
  bench.wait(asked);
  CHECK(asked.body == text);
  CHECK(most <= 128 * 1024);
  CHECK(pauses >= text.size() / (128 * 1024));
}

TEST_CASE("text that came as little lets the loop's others have their turn") {
  const std::string text(4'000'000, 'x');
  Bench bench(always(gzip_answer(gzip::whole(text), 1u << 20)));
  std::size_t seen = 0, most = 0;
  bool over = false;
  auto& asked = bench.start("GET", as_gzip(), [&](Asked& each) {
    each.at_data = [&](Asked& self) { most = std::max(most, self.body.size() - seen); };
    each.at_end = [&](Asked&) { over = true; };
  });
  std::function<void()> look = [&] {
    seen = asked.body.size();
    if (!over) bench.loop().post(look);
  };
  bench.loop().post(look);
  bench.wait(asked);
  CHECK(asked.body == text);
  CHECK(most <= 256 * 1024);
  bench.on_loop([] {}); // the last look
}

TEST_CASE("gzip that is damaged, cut short or goes on behind its end is told as an error") {
  const auto packed = gzip::whole(long_text());
  auto damaged = packed;
  damaged[damaged.size() - 5] ^= 1; // of the checksum
  for (const auto& [bytes, why] :
       {std::pair{damaged, "not what gzip compresses, or it is damaged"},
        std::pair{std::string("this is no gzip at all"), "not what gzip compresses"},
        std::pair{packed.substr(0, packed.size() / 2), "ended within its gzip"},
        std::pair{packed + "more", "something stands behind"}}) {
    CAPTURE(why);
    Bench bench(always(gzip_answer(bytes, 1000)));
    auto& asked = bench.ask("GET", as_gzip());
    const auto said = failure(asked);
    CHECK_MESSAGE(said.find(why) != std::string::npos, said);
  }
  // Of an answer that ends with its connection nothing else tells.
  Bench closing([&](Connection& connection, int) {
    connection.read_head();
    connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" +
                     packed.substr(0, packed.size() / 2));
  });
  CHECK(failure(closing.ask("GET", as_gzip())) ==
        "the upstream closed the connection within its answer");
}

TEST_CASE(
    "a call may go while its gzip is opened, and more of them than a loop opens ask for none") {
  std::mutex mutex;
  std::vector<std::string> heads;
  PoolLimits limits;
  limits.gzips = 1;
  Bench bench(
      [&](Connection& connection, int) {
        for (std::string head; !(head = connection.read_head()).empty();) {
          const bool gzip = head.find("Accept-Encoding: gzip") != std::string::npos;
          {
            const std::lock_guard lock(mutex);
            heads.push_back(gzip ? "gzip" : "identity");
          }
          connection.write(gzip ? gzip_answer(gzip::whole(std::string(1'000'000, 'x')), 4096)
                                : k_ok);
        }
      },
      false, limits);
  std::promise<void> gone;
  Asked* first = nullptr;
  Asked* second = nullptr;
  bench.on_loop([&] {
    first = &bench.begin("GET", as_gzip(), [&](Asked& asked) {
      asked.at_data = [&](Asked& self) {
        self.call.reset();
        gone.set_value();
      };
    });
    second = &bench.begin("GET", as_gzip());
  });
  gone.get_future().get();
  bench.wait(*second);
  CHECK(second->body == "ok");
  CHECK(bench.ask("GET", as_gzip()).body.size() == 1'000'000); // the place is free again
  bench.on_loop([&] { CHECK(first->body.size() <= 128 * 1024); });
  const std::lock_guard lock(mutex);
  std::sort(heads.begin(), heads.end());
  CHECK(heads == std::vector<std::string>{"gzip", "gzip", "identity"});
}
