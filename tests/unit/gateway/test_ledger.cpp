// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/ledger.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace zoo::gateway;
using namespace std::chrono_literals;
using zoo::api::Counted;
using zoo::api::Quota;

namespace {

using Clock = Ledger::Clock;
const Clock::time_point k_start = Clock::now();

Charge object(std::string key, std::uint64_t amount = 1) {
  return {Counted::objects, std::move(key), amount, false};
}

/// A ledger that knows `found` of tenant "t" at k_start.
struct Known {
  explicit Known(const Ledger::Amounts& found) { recount(found, k_start); }
  void recount(const Ledger::Amounts& found, Clock::time_point now) {
    REQUIRE(ledger.begin_count("t", Counted::objects, now, nullptr));
    ledger.finish_count("t", Counted::objects, found);
  }
  Ledger::Answer ask(Charge charge, std::uint64_t limit, Clock::time_point now = k_start) {
    return ledger.reserve("t", {{Counted::objects, limit}}, {std::move(charge)}, now, now);
  }
  std::uint64_t used() const { return ledger.used("t").at(Counted::objects); }
  Ledger ledger;
};

} // namespace

TEST_CASE("nothing is known at first, and without a ceiling nothing is asked") {
  Ledger ledger;
  CHECK(ledger.reserve("t", {}, {object("a")}, k_start, k_start).hold);
  const auto answer = ledger.reserve("t", {{Counted::objects, 1}}, {object("a")}, k_start, k_start);
  CHECK(answer.count == Counted::objects);
  CHECK(ledger.used("t").empty());
}

TEST_CASE("a reservation counts until its answer says otherwise") {
  Known known({{"a", 1}});
  auto first = known.ask(object("b"), 2);
  REQUIRE(first.hold);
  const auto full = known.ask(object("c"), 2);
  REQUIRE(full.full);
  CHECK(full.full->requested == 1);
  CHECK(full.full->used == 2);
  CHECK(full.full->limit == 2);
  first.hold->drop();
  CHECK(known.used() == 1);
  auto second = known.ask(object("c"), 2);
  REQUIRE(second.hold);
  second.hold->keep();
  CHECK(known.used() == 2);
  { // an answer that never came: as if written, and soon counted again
    auto third = known.ask(object("d"), 3);
    REQUIRE(third.hold);
  }
  CHECK(known.used() == 3);
  CHECK(known.ask(object("e"), 3, Clock::now() + 2s).count);
}

TEST_CASE("what upstream adds to an object counts once it has answered") {
  Ledger ledger;
  const Quota quota{{Counted::objects, 10}, {Counted::bytes, 1'000}};
  for (const auto what : {Counted::objects, Counted::bytes}) {
    REQUIRE(ledger.begin_count("t", what, k_start, nullptr));
    ledger.finish_count("t", what, {});
  }
  const auto ask = [&](const std::string& key, std::uint64_t bytes) {
    return ledger.reserve("t", quota, {object(key), {Counted::bytes, key, bytes, false}}, k_start,
                          k_start);
  };
  auto first = ask("a", 100);
  REQUIRE(first.hold);
  first.hold->keep(700);
  CHECK(ledger.used("t").at(Counted::bytes) == 700);
  CHECK(ledger.used("t").at(Counted::objects) == 1);
  const auto full = ask("b", 301).full;
  REQUIRE(full);
  CHECK(full->what == Counted::bytes);
  auto table = ask("b", 300); // whose answer was shorter than the object
  REQUIRE(table.hold);
  table.hold->keep(20);
  CHECK(ledger.used("t").at(Counted::bytes) == 1'000);
}

TEST_CASE("what is there already costs only what it grows") {
  Known known({{"a", 10}});
  CHECK(known.ask(object("a", 10), 10).hold);
  CHECK(known.ask(object("a", 4), 5).hold); // smaller, above a ceiling that was lowered
  const auto grown = known.ask(object("a", 12), 11);
  REQUIRE(grown.full);
  CHECK(grown.full->requested == 2);
  auto more = known.ask({Counted::objects, "a", 3, true}, 13);
  REQUIRE(more.hold);
  more.hold->keep();
  CHECK(known.used() == 13);
}

TEST_CASE("two creates of one name are one object") {
  Known known({});
  auto one = known.ask(object("a"), 1);
  auto two = known.ask(object("a"), 1);
  REQUIRE(one.hold);
  REQUIRE(two.hold);
  one.hold->keep();
  two.hold->drop(); // 409
  CHECK(known.used() == 1);
}

TEST_CASE("before a refusal it is counted again, as often as that makes sense") {
  Known known({{"a", 1}});
  CHECK(known.ask(object("b"), 1, k_start + 9s).full);
  CHECK(known.ask(object("b"), 1, k_start + 11s).count);
  known.recount({}, k_start + 11s);
  {
    auto room = known.ask(object("b"), 1, k_start + 11s);
    REQUIRE(room.hold);
    room.hold->drop();
  }
  known.recount({{"a", 1}}, k_start + 20s);
  CHECK(known.ask(object("b"), 1, k_start + 21s).full);
  known.ledger.removed("t", k_start + 21s);
  CHECK(known.ask(object("b"), 1, k_start + 21s).count);
}

TEST_CASE("a count that began after the question answers it, however long it took") {
  Known known({{"a", 1}});
  known.ledger.removed("t", k_start);
  known.recount({{"a", 1}}, k_start + 1s);
  const Quota quota{{Counted::objects, 1}};
  CHECK(known.ledger.reserve("t", quota, {object("b")}, k_start + 9s, k_start + 900ms).full);
  CHECK(known.ledger.reserve("t", quota, {object("b")}, k_start + 9s, k_start + 2s).count);
}

TEST_CASE("what is written while it is being counted is not lost") {
  Known known({{"gone", 1}});
  auto before = known.ask(object("before"), 10);
  REQUIRE(known.ledger.begin_count("t", Counted::objects, k_start, nullptr));
  auto during = known.ask(object("during"), 10);
  auto unnamed = known.ask(object(""), 10);
  before.hold->keep();
  during.hold->keep();
  unnamed.hold->keep();
  auto open = known.ask(object("open"), 10);
  known.ledger.finish_count("t", Counted::objects, {{"before", 1}, {"made-up", 1}});
  CHECK(known.used() == 5); // made-up is counted twice, under the name it had not yet
  open.hold->drop();
  CHECK(known.used() == 4);
  known.recount({{"before", 1}, {"during", 1}, {"made-up", 1}}, k_start + 1s);
  CHECK(known.used() == 3);
}

TEST_CASE("one counts, the others wait and hear of its end") {
  Ledger ledger;
  int woken = 0;
  CHECK(ledger.begin_count("t", Counted::webhooks, k_start, nullptr));
  CHECK_FALSE(ledger.begin_count("t", Counted::webhooks, k_start, [&] { ++woken; }));
  CHECK(ledger.begin_count("t", Counted::policies, k_start, nullptr));
  ledger.abandon_count("t", Counted::webhooks);
  CHECK(woken == 1);
  CHECK(ledger.begin_count("t", Counted::webhooks, k_start, nullptr));
  CHECK_FALSE(ledger.begin_count("t", Counted::webhooks, k_start, [&] { ++woken; }));
  ledger.finish_count("t", Counted::webhooks, {});
  CHECK(woken == 2);
}

TEST_CASE("a count of what controllers make is believed for a while only") {
  Known known({});
  CHECK(known.ask(object("a"), 5, k_start + 6min).count);
  Ledger ledger;
  REQUIRE(ledger.begin_count("t", Counted::namespaces, k_start, nullptr));
  ledger.finish_count("t", Counted::namespaces, {});
  CHECK(ledger
            .reserve("t", {{Counted::namespaces, 1}}, {{Counted::namespaces, "a", 1, false}},
                     k_start + 6min, k_start + 6min)
            .hold);
}

TEST_CASE("a write that has nothing of it does not make it count") {
  Ledger ledger;
  const Quota quota{{Counted::node_ports, 1}};
  CHECK(ledger.reserve("t", quota, {{Counted::node_ports, "a", 0, false}}, k_start, k_start).hold);
  REQUIRE(ledger.begin_count("t", Counted::node_ports, k_start, nullptr));
  ledger.finish_count("t", Counted::node_ports, {{"a", 1}});
  auto answer =
      ledger.reserve("t", quota, {{Counted::node_ports, "a", 0, false}}, k_start, k_start);
  REQUIRE(answer.hold);
  answer.hold->keep(); // it has no node port any more
  CHECK(ledger.used("t").at(Counted::node_ports) == 0);
}

TEST_CASE("all charges of a write, or none") {
  Known known({});
  REQUIRE(known.ledger.begin_count("t", Counted::namespaces, k_start, nullptr));
  known.ledger.finish_count("t", Counted::namespaces, {});
  const Quota quota{{Counted::objects, 5}, {Counted::namespaces, 0}};
  const auto answer = known.ledger.reserve(
      "t", quota, {object("a"), {Counted::namespaces, "a", 1, false}}, k_start, k_start);
  REQUIRE(answer.full);
  CHECK(answer.full->what == Counted::namespaces);
  CHECK(known.used() == 0);
}

TEST_CASE("many writers at once fill a ceiling exactly") {
  Known known({});
  std::atomic<int> granted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        auto answer = known.ask(object(std::to_string(t) + "-" + std::to_string(i)), 1000);
        if (!answer.hold) continue;
        if (i % 3 == 0) {
          answer.hold->drop();
        } else {
          answer.hold->keep();
          ++granted;
        }
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(granted <= 1000);
  CHECK(known.used() == static_cast<std::uint64_t>(granted.load()));
}

TEST_CASE("accounts that nobody asks for are forgotten") {
  Known known({{"a", 1}});
  CHECK(known.ledger.reserve("t", {}, {}, k_start + 11min, k_start + 11min).hold);
  CHECK(known.ledger.used("t").empty());
}
