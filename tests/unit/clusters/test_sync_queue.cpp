// SPDX-License-Identifier: Apache-2.0
// The cases of the fair queue of Virtual Cluster (CAPN), under their names, and those of delays.
#include "daemon/clusters/sync/calls.hpp"
#include "daemon/clusters/sync/queue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

using namespace zoo::clusters::sync;
using std::chrono::seconds;

namespace {

struct Timed {
  FairQueue::Clock::time_point now{};
  FairQueue queue;
  explicit Timed(std::size_t workers = 8) : queue(workers, [this] { return now; }) {}
  /// Of how many pieces of work each cluster's were, the workers being done at once.
  std::map<std::string, int> served(int pieces) {
    std::map<std::string, int> out;
    for (int i = 0; i < pieces; ++i) {
      const auto work = queue.take_due();
      if (!work) break;
      ++out[work->cluster];
      queue.done(*work, std::nullopt, false);
    }
    return out;
  }
};

void fill(FairQueue& queue, const std::string& cluster, int keys) {
  for (int i = 0; i < keys; ++i)
    queue.add(cluster, "p/" + std::to_string(i), Lane::then);
}

} // namespace

TEST_CASE("TestBasicAndFair: each cluster has its turns, whatever another one wants") {
  Timed timed;
  fill(timed.queue, "greedy", 1000);
  fill(timed.queue, "small1", 2);
  fill(timed.queue, "small2", 2);
  auto served = timed.served(6);
  CHECK(served == std::map<std::string, int>{{"greedy", 2}, {"small1", 2}, {"small2", 2}});
  CHECK(timed.served(2000)["greedy"] == 998);
  CHECK_FALSE(timed.queue.take_due());
}

TEST_CASE("TestLen: a key stands in the queue once") {
  Timed timed;
  for (int i = 0; i < 3; ++i)
    timed.queue.add("a", "p/x", Lane::then);
  timed.queue.add("a", "p/y", Lane::then);
  CHECK(timed.queue.size("a") == 2);
  const auto work = timed.queue.take_due();
  REQUIRE(work);
  CHECK(timed.queue.size("a") == 2);
  timed.queue.done(*work, std::nullopt, false);
  CHECK(timed.queue.size("a") == 1);
}

TEST_CASE("TestReinsert: what is added while it is worked on is handed out again, afterwards") {
  Timed timed;
  timed.queue.add("a", "p/x", Lane::then);
  const auto work = timed.queue.take_due();
  REQUIRE(work);
  timed.queue.add("a", "p/x", Lane::then);
  CHECK_FALSE(timed.queue.take_due());
  timed.queue.done(*work, std::nullopt, false);
  const auto again = timed.queue.take_due();
  REQUIRE(again);
  CHECK(again->key == "p/x");
}

TEST_CASE("TestQueueGC: a cluster of which nothing is to be done is forgotten") {
  Timed timed;
  timed.queue.add("a", "p/x", Lane::then);
  CHECK(timed.queue.clusters() == 1);
  timed.served(1);
  CHECK(timed.queue.clusters() == 0);
  CHECK(timed.queue.size("a") == 0);
}

TEST_CASE("TestRR_Next: a cluster of twice the weight has twice the turns") {
  Timed timed;
  timed.queue.set_weight("heavy", 200);
  timed.queue.set_weight("light", 50);
  fill(timed.queue, "heavy", 500);
  fill(timed.queue, "light", 500);
  fill(timed.queue, "usual", 500);
  const auto served = timed.served(350);
  CHECK(served.at("heavy") == 200);
  CHECK(served.at("usual") == 100);
  CHECK(served.at("light") == 50);
}

TEST_CASE("ends and states go before what is new") {
  Timed timed;
  timed.queue.add("a", "p/new", Lane::then);
  timed.queue.add("a", "p/end", Lane::first);
  CHECK(timed.queue.take_due()->key == "p/end");
  CHECK(timed.queue.take_due()->key == "p/new");
}

TEST_CASE("while others wait no cluster has more than half of the workers") {
  Timed timed(4);
  fill(timed.queue, "greedy", 10);
  CHECK(timed.queue.take_due()->cluster == "greedy");
  CHECK(timed.queue.take_due()->cluster == "greedy");
  const auto third = timed.queue.take_due(); // nobody else wants anything
  REQUIRE(third);
  fill(timed.queue, "small", 2);
  CHECK(timed.queue.take_due()->cluster == "small");
  CHECK(timed.queue.take_due()->cluster == "small");
}

TEST_CASE("a piece of work that does much has ten seconds for it") {
  const auto began = WorkTime::Clock::now();
  const WorkTime time(began);
  CHECK_FALSE(time.over(began + WorkTime::k_most - seconds(1)));
  CHECK(time.over(began + WorkTime::k_most));
}

TEST_CASE("one that has a worker never has the last that is free") {
  Timed timed(4);
  fill(timed.queue, "greedy", 10);
  for (int i = 0; i < 3; ++i)
    REQUIRE(timed.queue.take_due());
  CHECK_FALSE(timed.queue.take_due());
  fill(timed.queue, "late", 1);
  const auto work = timed.queue.take_due();
  REQUIRE(work);
  CHECK(work->cluster == "late");
}

TEST_CASE("a cluster that draws its work out has one worker while others wait, for a minute") {
  Timed timed(8);
  fill(timed.queue, "slow", 20);
  const auto first = timed.queue.take_due();
  const auto second = timed.queue.take_due();
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(timed.queue.slow("slow"));
  timed.now += FairQueue::k_slow + seconds(1);
  CHECK(timed.queue.slow("slow")); // also before it is over
  timed.queue.done(*first, std::nullopt, false);
  fill(timed.queue, "quick", 20);
  for (int i = 0; i < 4; ++i) {
    const auto work = timed.queue.take_due();
    REQUIRE(work);
    CHECK(work->cluster == "quick");
  }
  CHECK_FALSE(timed.queue.take_due()); // quick has half, and slow has one
  timed.queue.done(*second, std::nullopt, false);
  auto work = timed.queue.take_due();
  REQUIRE(work);
  CHECK(work->cluster == "slow");
  CHECK_FALSE(timed.queue.take_due());
  timed.now += seconds(1);
  timed.queue.done(*work, std::nullopt, false);
  CHECK(timed.queue.slow("slow")); // one quick piece proves nothing
  timed.now += FairQueue::k_slow_for;
  CHECK_FALSE(timed.queue.slow("slow"));
}

TEST_CASE("all slow clusters together leave half of the workers to the others") {
  Timed timed(8);
  std::vector<FairQueue::Work> taken;
  const auto take = [&] {
    if (const auto work = timed.queue.take_due()) taken.push_back(*work);
  };
  for (int i = 0; i < 8; ++i)
    fill(timed.queue, "slow" + std::to_string(i), 5);
  for (int i = 0; i < 8; ++i)
    take();
  REQUIRE(taken.size() == 8); // nobody knows it yet
  timed.now += FairQueue::k_slow + seconds(1);
  for (const auto& work : taken)
    timed.queue.done(work, std::nullopt, false);
  taken.clear();
  fill(timed.queue, "quick", 20);
  for (int i = 0; i < 10; ++i)
    take();
  const auto by_quick = std::count_if(taken.begin(), taken.end(),
                                      [](const auto& work) { return work.cluster == "quick"; });
  CHECK(by_quick == 3);
  CHECK(taken.size() == 7);
  fill(timed.queue, "late", 1);
  take();
  CHECK(taken.back().cluster == "late");
}

TEST_CASE("what failed waits, longer each time by its caller's word, and is woken earlier") {
  Timed timed;
  timed.queue.add("a", "p/x", Lane::then, seconds(5));
  CHECK_FALSE(timed.queue.take_due());
  timed.now += seconds(5);
  auto work = timed.queue.take_due();
  REQUIRE(work);
  CHECK(work->attempts == 0);
  timed.queue.done(*work, seconds(10), true);
  timed.now += seconds(9);
  CHECK_FALSE(timed.queue.take_due());
  timed.now += seconds(1);
  work = timed.queue.take_due();
  REQUIRE(work);
  CHECK(work->attempts == 1);
  timed.queue.done(*work, seconds(100), true);
  timed.queue.add("a", "p/x", Lane::first);
  work = timed.queue.take_due();
  REQUIRE(work);
  CHECK(work->attempts == 0);
}

TEST_CASE("a cluster is forgotten when nobody works for it any more") {
  FairQueue queue(2);
  queue.add("a", "p/x", Lane::then);
  queue.add("a", "p/y", Lane::then);
  queue.add("a", "p/z", Lane::then, std::chrono::hours(1));
  const auto work = queue.take_due();
  REQUIRE(work);
  std::jthread other([&] { queue.forget("a"); });
  queue.done(*work, std::nullopt, false);
  other.join();
  CHECK_FALSE(queue.take_due());
  CHECK(queue.size("a") == 0);
}
