// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/settings.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace zoo;
using namespace zoo::clusters;

TEST_CASE("the last lines of a text are as many as are asked for") {
  CHECK(last_lines("a\nb\nc\n", 2) == "b\nc\n");
  CHECK(last_lines("a\nb\nc", 2) == "b\nc");
  CHECK(last_lines("a\nb\n", 2) == "a\nb\n");
  CHECK(last_lines("a\nb\n", 9) == "a\nb\n");
  CHECK(last_lines("\nb\n", 1) == "b\n");
  CHECK(last_lines("\n\n", 1) == "\n");
  CHECK(last_lines("a\n", 0).empty());
  CHECK(last_lines("", 3).empty());
}

TEST_CASE("no control plane starts where memory or disk are short, and the reason has numbers") {
  Settings settings;
  settings.memory_reserve = 1ULL << 30;
  settings.disk_reserve = 2ULL << 30;
  constexpr auto k_much = std::uint64_t{1} << 40;
  CHECK(why_full(settings, {k_much, k_much}).empty());
  CHECK(why_full(settings, {}).empty()); // nobody knows
  CHECK(why_full(settings, {500ULL << 20, k_much}) ==
        "500 MiB of memory are free on zood's machine, and a control plane needs 350 MiB beside "
        "the 1024 MiB that clusters.memory_reserve keeps: it starts when there are");
  CHECK(why_full(settings, {k_much, 2'100ULL << 20}) ==
        "2100 MiB of disk are free on zood's machine, and a control plane needs 256 MiB beside "
        "the 2048 MiB that clusters.disk_reserve keeps: it starts when there are");
  CHECK(why_full(settings, {k_much, 0}).starts_with("0 MiB of disk"));
  CHECK(why_full(settings, {k_much, (2ULL << 30) + Settings::k_needed_disk}).empty());
}

TEST_CASE("how much of a disk is free is asked of the one that the directory is on") {
  const test::TemporaryDirectory directory;
  CHECK(free_disk(directory.path()).has_value());
  CHECK_FALSE(free_disk(directory.path() / "none").has_value());
}

TEST_CASE("a log is followed by whole lines, also over the moment at which it is emptied") {
  const test::TemporaryDirectory directory;
  const auto log = directory.path() / "etcd.log";
  CHECK(read_lines(log, 0, 100).error().code() == Code::not_found);
  const auto write = [&log](const char* text) { std::ofstream(log, std::ios::app) << text; };
  write("one\ntwo\n");
  const auto end = read_end(log, 100);
  REQUIRE(end);
  CHECK(end->text == "one\ntwo\n");
  CHECK(end->end == 8);
  CHECK(read_end(log, 4)->text == "two\n");

  write("thr");
  auto next = read_lines(log, end->end, 100);
  REQUIRE(next);
  CHECK(next->text.empty()); // the line goes on
  CHECK(next->end == 8);
  write("ee\nfour\n");
  next = read_lines(log, next->end, 7);
  CHECK(next->text == "three\n");
  next = read_lines(log, next->end, 100);
  CHECK(next->text == "four\n");
  CHECK(read_lines(log, next->end, 100)->text.empty());
  CHECK(read_lines(log, 0, 2)->text == "on"); // longer than what one part has room for

  std::ofstream(log, std::ios::trunc) << "anew\n";
  CHECK(read_lines(log, next->end, 100)->text == "anew\n");
}
