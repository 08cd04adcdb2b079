// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/byte_queue.hpp"

#include <doctest/doctest.h>

#include <random>

using zoo::http::ChunkQueue;

TEST_CASE("a chunk queue gives the bytes back in order, whatever they were pushed and taken in") {
  std::mt19937 random(3);
  for (int turn = 0; turn < 300; ++turn) {
    ChunkQueue queue;
    std::string pushed, taken;
    for (int i = 0; i < 200; ++i) {
      std::string piece(random() % (turn % 2 == 0 ? 40 : 9000), 'a');
      for (auto& c : piece)
        c = static_cast<char>('a' + random() % 26);
      pushed += piece;
      if (random() % 2 == 0) {
        queue.push(std::string_view(piece));
      } else {
        queue.push(std::move(piece));
      }
      const auto before = taken.size();
      const auto wanted = random() % 8000;
      const auto there = queue.size();
      queue.take(taken, wanted);
      CHECK(taken.size() - before == std::min<std::size_t>(wanted, there));
      CHECK(queue.size() == pushed.size() - taken.size());
    }
    queue.take(taken, queue.size());
    CHECK(queue.empty());
    CHECK(taken == pushed);
  }
}

TEST_CASE("what is left of a large piece does not keep its room") {
  ChunkQueue queue;
  std::string piece;
  for (int i = 0; i < 100'000; ++i)
    piece += std::to_string(i % 10);
  queue.push(std::string(piece));
  CHECK(queue.room() >= piece.size());
  std::string out;
  queue.take(out, 93'000);
  CHECK(queue.size() == piece.size() - 93'000);
  CHECK(queue.room() < 2 * queue.size());
  queue.take(out, queue.size());
  CHECK(out == piece);
  CHECK(queue.room() == 0);
}

TEST_CASE("a chunk queue that was cleared is as new") {
  ChunkQueue queue;
  queue.push(std::string(5000, 'x'));
  std::string out;
  queue.take(out, 10);
  queue.clear();
  CHECK(queue.empty());
  queue.push(std::string_view("abc"));
  out.clear();
  queue.take(out, 100);
  CHECK(out == "abc");
}
