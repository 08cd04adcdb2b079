// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/moves.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::quota;
using kube::Quantity;

namespace {

ResourceList pods(std::int64_t count) { return {{"pods", Quantity::of(count)}}; }
Quantity of(const ResourceList& list) {
  const auto found = list.find("pods");
  return found == list.end() ? Quantity{} : found->second;
}

/// Slices of three namespaces as upstream has them, with what is in them; and everything that may
/// happen to them beside zood.
struct Upstream {
  struct One {
    std::int64_t revision = 1, spec = 0, hard = 0, used = 0, live = 0;
  };
  std::map<std::string, One> slices{{"a", {}}, {"b", {}}, {"c", {}}};
  std::mt19937 random;

  explicit Upstream(unsigned seed) : random(seed) {}
  std::int64_t taken() const {
    std::int64_t out = 0;
    for (const auto& [space, one] : slices)
      out += std::max({one.spec, one.hard, one.used});
    return out;
  }
  /// A create, a delete, a recount by kube-controller-manager, or nothing.
  void happens() {
    auto each = slices.begin();
    std::advance(each, random() % slices.size());
    auto& one = each->second;
    switch (random() % 5) {
    case 0: // charged by compare-and-swap, then stored
      if (one.used < one.hard) {
        ++one.used;
        ++one.live;
        ++one.revision;
      }
      break;
    case 1:
      if (one.live > 0) --one.live;
      break;
    case 2: // every recount copies spec.hard
      one.hard = one.spec;
      one.used = one.live;
      ++one.revision;
      break;
    default:
      break;
    }
  }
  bool put_status(const std::string& space, std::int64_t revision, std::int64_t hard,
                  std::int64_t used) {
    auto& one = slices.at(space);
    if (one.revision != revision) return false;
    one.hard = hard;
    one.used = used;
    ++one.revision;
    return true;
  }
  bool put_spec(const std::string& space, std::int64_t revision, std::int64_t spec) {
    auto& one = slices.at(space);
    if (one.revision != revision) return false;
    one.spec = spec;
    ++one.revision;
    return true;
  }
};

/// One zood: what it knows of the slices, which may be old, and one look that may end anywhere.
struct Zood {
  Upstream& upstream;
  std::map<std::string, Upstream::One> known;
  int steps; ///< writes and reads until it is killed

  Zood(Upstream& up, int left) : upstream(up), steps(left) {
    // It begins by a write to each slice: what one before it has under way fails from then on.
    for (auto& [space, one] : upstream.slices)
      ++one.revision;
    known = upstream.slices;
  }
  void hears(std::mt19937& random) { // a watch is behind, slice by slice
    for (const auto& [space, one] : upstream.slices)
      if (random() % 3 == 0) known[space] = one;
  }
  bool step() {
    if (steps-- <= 0) return false;
    for (int i = 0; i < 3; ++i)
      upstream.happens();
    return true;
  }
  /// As QuotaKeeper::write(): status, then spec, with the answer's revision.
  bool write(const std::string& space, std::int64_t hard) {
    auto& mine = known[space];
    if (!step()) return false;
    if (!upstream.put_status(space, mine.revision, hard, mine.used)) {
      mine = upstream.slices.at(space);
      return false;
    }
    mine = {mine.revision + 1, mine.spec, hard, mine.used, mine.live};
    if (!step()) return false;
    if (!upstream.put_spec(space, mine.revision, hard)) {
      mine = upstream.slices.at(space);
      return false;
    }
    mine = {mine.revision + 1, hard, mine.hard, mine.used, mine.live};
    return true;
  }
  Slices slices() const {
    Slices out;
    for (const auto& [space, one] : known) {
      auto& slice = out[space];
      slice.spec = pods(one.spec);
      slice.hard = pods(one.hard);
      slice.used = pods(one.used);
    }
    return out;
  }
  void look(std::int64_t limit, std::mt19937& random) {
    auto now = slices();
    for (auto& [space, slice] : now)
      if (random() % 2 == 0) slice.wanted = pods(static_cast<std::int64_t>(random() % 4));
    const auto targets = distribute(pods(limit), now);
    for (const auto& move : lowered(pods(limit), now, targets)) {
      if (!write(move.space, std::stoll(of(move.hard).text()))) return;
      now[move.space] = slices().at(move.space);
    }
    for (const auto& move : raised(pods(limit), now, targets))
      if (!write(move.space, std::stoll(of(move.hard).text()))) return;
  }
};

} // namespace

// A crash is the end of a Zood at any step: between two writes, between status and spec.
TEST_CASE("however zood ends, and whatever happens beside it, slices are never above the limit") {
  std::size_t written = 0;
  for (unsigned seed = 0; seed < 3'000; ++seed) {
    Upstream upstream(seed);
    std::mt19937 random(seed);
    std::int64_t limit = 6;
    for (int life = 0; life < 6; ++life) {
      Zood zood(upstream, static_cast<int>(random() % 24));
      while (zood.steps > 0) {
        zood.hears(random);
        --zood.steps;
        zood.look(limit, random);
        if (upstream.taken() > limit) FAIL("seed " << seed << ": " << upstream.taken());
      }
      for (const auto& [space, one] : upstream.slices)
        written += one.revision > 1 ? 1 : 0;
      for (int i = 0; i < 20; ++i) { // nobody is there
        upstream.happens();
        if (upstream.taken() > limit) FAIL("seed " << seed << ": " << upstream.taken());
      }
    }
  }
  CHECK(written > 0);
}

TEST_CASE("whatever the limit was lowered to, slices come down to it and never rise above before") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Upstream upstream(seed);
    std::mt19937 random(seed);
    Zood first(upstream, 1'000);
    for (int i = 0; i < 50; ++i) {
      first.known = upstream.slices;
      first.look(9, random);
    }
    auto before = upstream.taken();
    Zood zood(upstream, 1'000);
    for (int i = 0; i < 30; ++i) {
      zood.known = upstream.slices;
      zood.look(4, random);
      const auto now = upstream.taken();
      REQUIRE(now <= std::max<std::int64_t>(before, 4));
      before = now;
    }
  }
}

TEST_CASE("only what the slices leave is given away") {
  Slices slices;
  slices["a"].spec = slices["a"].hard = pods(5);
  slices["a"].used = pods(7); // a recount has found more than there should be
  slices["b"].spec = slices["b"].hard = slices["b"].used = pods(1);
  const Targets targets{{"a", pods(5)}, {"b", pods(5)}};
  const auto moves = raised(pods(10), slices, targets);
  REQUIRE(moves.size() == 1);
  CHECK(moves.front().space == "b");
  CHECK(of(moves.front().hard) == Quantity::of(3));
}
