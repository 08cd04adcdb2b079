// SPDX-License-Identifier: Apache-2.0
// What one virtual cluster may have in the upstream's store, and how fast it may write there.
#include "daemon/clusters/sync/mirror_table.hpp"
#include "daemon/clusters/sync/pod_table.hpp"
#include "daemon/clusters/sync/stored.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters::sync;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t k_large = 1'400'000;

MirrorThere there_with(std::uint64_t version) {
  MirrorThere out{"p1", "v1", "h1"};
  out.version = version;
  return out;
}

} // namespace

TEST_CASE("a cluster has so many bytes upstream, and what is there already stays") {
  StoredBytes stored;
  CHECK(stored.swap(0, StoredBytes::k_most));
  CHECK_FALSE(stored.swap(0, 1));
  CHECK_FALSE(stored.swap(10, 11));
  CHECK(stored.swap(11, 10));
  CHECK(stored.swap(0, 1));
  CHECK(stored.sum() == StoredBytes::k_most);
  stored.set(0, 100); // it was there before zood was
  CHECK(stored.sum() == StoredBytes::k_most + 100);
  CHECK_FALSE(stored.swap(0, 1));
  CHECK(stored.swap(200, 100)); // what becomes smaller is had in any case
  CHECK(no_room_for(7).find("7 bytes") != std::string::npos);
}

TEST_CASE("large objects of all kinds and pods share one sum") {
  StoredBytes stored;
  MirrorTable policies, maps;
  PodTable pods;
  policies.use(stored, false);
  maps.use(stored, false);
  pods.use(stored);
  std::size_t made = 0;
  for (; made < MirrorTable::k_most; ++made) {
    auto& table = made % 2 == 0 ? policies : maps;
    const auto key = "a/" + std::to_string(made);
    auto place = table.claim(key, 0, k_large);
    if (!place) {
      CHECK(place.error().code() == Code::forbidden);
      CHECK(place.error().message() == no_room_for(k_large));
      break;
    }
    table.note_there(key, there_with(made + 1));
    place->done();
  }
  CHECK(made == StoredBytes::k_most / k_large);
  PodFacts facts;
  facts.here = PodHere{"v", "h"};
  pods.note_here("a/x", facts);
  CHECK_FALSE(pods.hold_bytes("a/x", k_large));
  policies.drop_there("a/0");
  CHECK(stored.sum() == (made - 1) * k_large);
  CHECK(pods.hold_bytes("a/x", k_large));
  CHECK_FALSE(maps.claim("a/y", 0, k_large));
}

TEST_CASE("bytes of an object are counted from before it is made until it is gone") {
  StoredBytes stored;
  MirrorTable table;
  table.use(stored, false);
  {
    CHECK(table.claim("a/x", 0, 500));
    CHECK(stored.sum() == 0); // it has gone out of sight: upstream has refused it
  }
  {
    auto place = table.claim("a/x", 0, 500);
    REQUIRE(place);
    CHECK(stored.sum() == 500);
    table.note_there("a/x", there_with(1));
    place->done();
  }
  CHECK(stored.sum() == 500);
  {
    auto place = table.claim("a/x", 0, 900); // a change that upstream refuses
    REQUIRE(place);
    CHECK(stored.sum() == 900);
  }
  CHECK(stored.sum() == 500);
  {
    auto place = table.claim("a/x", 0, 200);
    REQUIRE(place);
    CHECK(stored.sum() == 500); // until upstream has it so
    table.note_there("a/x", there_with(2));
    place->done();
  }
  CHECK(stored.sum() == 200);
  // zood comes back: what is there is counted as the cluster has it.
  table.note_there("a/y", there_with(3));
  table.note_here("a/y", {"v1", "h1", 0, 70});
  CHECK(stored.sum() == 270);
  table.keep_there({"a/y"});
  CHECK(stored.sum() == 70);
}

TEST_CASE("bytes of a pod are counted until upstream has it no more, be it over or not") {
  StoredBytes stored;
  PodTable table;
  table.use(stored);
  PodFacts facts;
  facts.here = PodHere{"v1", "h"};
  table.note_here("a/x", facts);
  table.reserve("a/x", {});
  CHECK(table.hold_bytes("a/x", 500));
  CHECK(table.uncount("a/x")); // upstream has refused it
  CHECK(stored.sum() == 0);
  CHECK(table.hold_bytes("a/x", 500));
  table.set_there("a/x", PodThere{"p1", "v1", "h"});
  table.reserve("a/x", {});
  CHECK(table.uncount("a/x")); // it has ended
  CHECK(stored.sum() == 500);
  table.note_bytes("a/x", 900); // counted already
  CHECK(stored.sum() == 500);
  table.set_there("a/x", std::nullopt);
  CHECK(stored.sum() == 0);
  table.note_there("a/y", PodThere{"p2", "v2", "h", false, false, 1});
  table.note_bytes("a/y", 900);
  CHECK(stored.sum() == 900);
  table.keep_there({});
  CHECK(stored.sum() == 0);
}

TEST_CASE("a cluster writes so much at once, and then so much a second") {
  WritePace pace;
  WritePace::Clock::time_point now{std::chrono::hours(1)};
  std::int64_t written = 0;
  while (pace.wait(now).count() == 0) {
    pace.spend(k_large, now);
    written += k_large;
  }
  CHECK(written >= WritePace::k_at_once);
  CHECK(written < WritePace::k_at_once + static_cast<std::int64_t>(k_large));
  // Each who asks is told another time.
  const auto first = pace.wait(now), second = pace.wait(now);
  CHECK(second > first);
  CHECK(first < seconds(7));
  const auto before = written;
  for (int second_of = 0; second_of < 60; ++second_of) {
    now += seconds(1);
    while (pace.wait(now).count() == 0) {
      pace.spend(k_large, now);
      written += k_large;
    }
  }
  CHECK(written - before <= 60 * WritePace::k_a_second + static_cast<std::int64_t>(k_large));
  CHECK(written - before >= 50 * WritePace::k_a_second);
  // The smallest ones count as something.
  now += std::chrono::hours(48);
  std::int64_t small = 0;
  while (pace.wait(now).count() == 0) {
    pace.spend(1, now);
    ++small;
  }
  CHECK(small == WritePace::k_at_once / WritePace::k_least);
}
