// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/shares.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace zoo;
using namespace zoo::quota;
using kube::Quantity;

namespace {

Quantity q(std::string_view text) { return *Quantity::parse(text); }

/// Slices of one name: used, hard, wanted.
struct Row {
  const char *used, *hard, *wanted;
};

Slices slices(std::string_view name, std::initializer_list<Row> rows) {
  Slices out;
  char space = 'a';
  for (const auto& row : rows) {
    auto& slice = out[std::string(1, space++)];
    slice.used.emplace(name, q(row.used));
    slice.hard.emplace(name, q(row.hard));
    slice.spec = slice.hard;
    if (row.wanted[0] != '\0') slice.wanted.emplace(name, q(row.wanted));
  }
  return out;
}

std::string shared(std::string_view name, std::string_view limit, std::initializer_list<Row> rows) {
  ResourceList most;
  most.emplace(name, q(limit));
  std::string out;
  for (const auto& [space, target] : distribute(most, slices(name, rows)))
    out += (out.empty() ? "" : " ") + target.at(std::string(name)).text();
  return out;
}

} // namespace

TEST_CASE("a limit is handed out whole, and evenly where nothing is used") {
  CHECK(shared("pods", "10", {{"0", "0", ""}, {"0", "0", ""}, {"0", "0", ""}, {"0", "0", ""}}) ==
        "2 2 3 3");
  CHECK(shared("pods", "10", {{"0", "0", ""}}) == "10");
  CHECK(shared("limits.cpu", "1", {{"0", "0", ""}, {"0", "0", ""}, {"0", "0", ""}}) ==
        "333m 333m 334m");
  CHECK(shared("pods", "1", {{"0", "0", ""}, {"0", "0", ""}}) == "1 0");
  CHECK(shared("pods", "0", {{"0", "0", ""}, {"0", "0", ""}}) == "0 0");
}

TEST_CASE("room goes to who wants it, and from who has most") {
  // The second one asks for four, and the first has them idle.
  CHECK(shared("pods", "10", {{"1", "8", ""}, {"2", "2", "4"}}) == "3 7");
  // Two ask for more than there is.
  CHECK(shared("pods", "10", {{"0", "10", ""}, {"0", "0", "9"}, {"0", "0", "9"}}) == "0 5 5");
  // Who is full gets room for one more object, although nobody has asked.
  CHECK(shared("pods", "10", {{"6", "8", ""}, {"2", "2", ""}}) == "7 3");
  // Who has enough is not touched.
  CHECK(shared("pods", "10", {{"1", "6", ""}, {"1", "4", ""}}) == "6 4");
}

TEST_CASE("a new namespace gets a part of what is idle") {
  CHECK(shared("pods", "12", {{"2", "6", ""}, {"1", "6", ""}, {"0", "0", ""}}) == "6 5 1");
}

TEST_CASE("what is used above the limit is cut, and nothing grows") {
  CHECK(shared("pods", "4", {{"6", "6", ""}, {"2", "2", ""}}) == "3 1");
  CHECK(shared("pods", "0", {{"6", "6", "1"}, {"2", "2", ""}}) == "0 0");
  CHECK(shared("pods", "8", {{"6", "9", "2"}, {"2", "2", "2"}}) == "6 2");
}

TEST_CASE("what a slice takes is the largest of what was ever promised and what is used") {
  Slice slice;
  slice.spec = {{"pods", Quantity::of(3)}};
  slice.hard = {{"pods", Quantity::of(2)}};
  slice.used = {{"pods", Quantity::of(5)}, {"secrets", Quantity::of(1)}};
  CHECK(taken(slice) == ResourceList{{"pods", Quantity::of(5)}, {"secrets", Quantity::of(1)}});
}

TEST_CASE("random slices: never above the limit, nobody below use, and settled at once") {
  std::mt19937 random(4711); // the same slices in each run
  const auto below = [&](std::uint32_t bound) { return random() % bound; };
  for (int round = 0; round < 4'000; ++round) {
    const std::string name = below(2) == 0 ? "pods" : "limits.cpu";
    const bool cpu = name == "limits.cpu";
    const auto amount = [&](std::uint32_t bound) {
      return cpu ? q(std::to_string(below(bound * 100)) + "m") : Quantity::of(below(bound));
    };
    const ResourceList limit{{name, amount(40)}};
    Slices all;
    for (auto count = 1 + below(6); count > 0; --count) {
      auto& slice = all["space-" + std::to_string(count)];
      slice.used[name] = amount(12);
      slice.hard[name] = amount(12);
      slice.spec = slice.hard;
      if (below(3) == 0) slice.wanted[name] = amount(6);
    }
    const auto targets = distribute(limit, all);
    Quantity sum, used;
    for (const auto& [space, target] : targets) {
      sum += target.at(name);
      used += all[space].used[name];
      CHECK_FALSE(target.at(name).negative());
    }
    CAPTURE(round);
    CHECK(sum <= limit.at(name));
    if (used <= limit.at(name)) {
      CHECK(sum == limit.at(name));
      for (const auto& [space, target] : targets)
        CHECK(target.at(name) >= all[space].used[name]);
    }
    for (auto& [space, slice] : all) {
      slice.hard = slice.spec = targets.at(space);
    }
    const auto again = distribute(limit, all);
    for (const auto& [space, target] : targets) {
      CAPTURE(space);
      CHECK(again.at(space).at(name).text() == target.at(name).text());
    }
  }
}
