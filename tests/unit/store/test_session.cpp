// SPDX-License-Identifier: Apache-2.0
// Several zoods on one etcd: who leads, and that nobody else can write as the leader does.
#include "common/crypto/digest.hpp"
#include "daemon/store/led.hpp"
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

using namespace zoo;
using namespace zoo::store;
using test::Cutter;
using test::EtcdServer;

namespace {

template <class Condition>
bool eventually(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(40);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

std::unique_ptr<Session> joined(Store& store, const std::string& name) {
  auto out = store.join({name, R"({"version":"x"})", false, std::chrono::seconds(600)});
  if (!out) throw std::runtime_error(out.error().text());
  return *std::move(out);
}

} // namespace

TEST_CASE("one leads, the others know all of them, and one who resigns is followed at once") {
  const auto prefix = EtcdServer::new_prefix();
  const auto store_a = EtcdServer::one().open(prefix), store_b = EtcdServer::one().open(prefix);
  auto a = joined(*store_a, "a");
  REQUIRE(eventually([&] { return a->leads(); }));
  const auto b = joined(*store_b, "b");
  std::atomic<int> b_told = 0;
  b->on_change([&](bool leads) { b_told = leads ? 1 : -1; });
  const auto known = b->replicas().value();
  REQUIRE(known.size() == 2);
  CHECK(known[0].name == "a");
  CHECK(known[1].name == "b");
  CHECK(known[0].leads);
  CHECK_FALSE(known[1].leads);
  CHECK(known[1].info == R"({"version":"x"})");
  CHECK_FALSE(b->leads());

  LedStore led_a(*store_a, a.get()), led_b(*store_b, b.get());
  const auto first = led_a.put("k", "a", "1", 0).value();
  CHECK(led_a.put("k", "a", "2", first.revision)->created_revision == first.revision);
  CHECK(led_b.put("k", "a", "3").error().code() == Code::unavailable);
  CHECK(led_b.remove("k", "a").error().code() == Code::unavailable);
  const auto old_fence = a->fence();
  a->resign();
  CHECK_FALSE(a->leads());
  CHECK(led_a.put("k", "a", "4").error().code() == Code::unavailable);
  REQUIRE(eventually([&] { return b->leads(); }));
  CHECK(eventually([&] { return b_told == 1; }));
  CHECK(led_b.put("k", "a", "5"));
  const auto nobody = b->settle();
  REQUIRE(nobody);
  CHECK(nobody->empty());
  // Even if it did not know yet: the store does.
  const std::vector<Op> late{{"k", "a", "late"}};
  CHECK(store_a->write(late, {}, old_fence).error().code() == Code::conflict);
  CHECK(store_a->get("k", "a")->value == "5");
  a.reset();
  CHECK(b->replicas()->size() == 1);
}

TEST_CASE("a leader that hangs stops leading before another begins, and stays behind it") {
  const auto prefix = EtcdServer::new_prefix();
  Cutter cutter(EtcdServer::one().endpoint());
  auto options = EtcdServer::one().options(prefix);
  options.endpoints = {cutter.endpoint()};
  const auto store_a = open_etcd(std::move(options)).value();
  const auto store_b = EtcdServer::one().open(prefix);
  const auto a = joined(*store_a, "a");
  REQUIRE(eventually([&] { return a->leads(); }));
  const auto b = joined(*store_b, "b");
  // A third one may not take a name that lives, however often it asks.
  const auto store_c = EtcdServer::one().open(prefix);
  auto taken = std::async(std::launch::async, [&] {
    return store_c->join({"b", "{}", false, std::chrono::seconds(600)});
  });
  const auto fence = a->fence();
  std::atomic<bool> both = false, done = false;
  std::thread looking([&] {
    while (!done)
      if (b->leads() && a->leads()) both = true;
  });
  cutter.hold(true);
  CHECK(eventually([&] { return !a->leads(); }));
  CHECK(eventually([&] { return b->leads(); }));
  cutter.hold(false);
  const std::vector<Op> late{{"k", "a", "late"}};
  CHECK(eventually([&] {
    const auto written = store_a->write(late, {}, fence);
    CHECK_FALSE(written.has_value());
    return !written && written.error().code() == Code::conflict;
  }));
  // It lives again, behind the other.
  CHECK(eventually([&] { return b->replicas()->size() == 2; }));
  CHECK_FALSE(a->leads());
  CHECK(b->leads());
  done = true;
  looking.join();
  CHECK_FALSE(both);
  const auto refused = taken.get();
  REQUIRE(!refused);
  CHECK(refused.error().code() == Code::conflict);
}

TEST_CASE("who writes may wait until all have told their watches, and learns who has not") {
  const auto prefix = EtcdServer::new_prefix();
  Cutter cutter(EtcdServer::one().endpoint());
  auto options = EtcdServer::one().options(prefix);
  options.endpoints = {cutter.endpoint()};
  const auto store_a = EtcdServer::one().open(prefix),
             store_c = open_etcd(std::move(options)).value();
  auto store_b = EtcdServer::one().open(prefix);
  const auto a = joined(*store_a, "a"), c = joined(*store_c, "c");
  auto b = joined(*store_b, "b");
  std::atomic<std::int64_t> b_has = 0, c_has = 0;
  const auto from = store_a->revision().value();
  auto b_watch = store_b
                     ->watch("k", from,
                             [&](const Change& change) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(20));
                               b_has = change.record.revision;
                             })
                     .value();
  const auto c_watch =
      store_c->watch("k", from, [&](const Change& change) { c_has = change.record.revision; })
          .value();
  for (int i = 0; i < 20; ++i) {
    const auto put = store_a->put("k", "a", std::to_string(i)).value();
    const auto without = a->settle();
    REQUIRE(without);
    CHECK(without->empty());
    CHECK(b_has == put.revision);
    CHECK(c_has == put.revision);
  }
  // One who goes in order is not waited for; one who hangs is named.
  b_watch.reset();
  b.reset();
  store_b.reset();
  cutter.hold(true);
  const auto put = store_a->put("k", "a", "last").value();
  const auto without = a->settle();
  REQUIRE(without);
  CHECK(*without == std::vector<std::string>{"c"});
  CHECK(c_has < put.revision);
  // Its session has ended, and it may be letting somebody in all the same.
  const auto later = a->settle();
  REQUIRE(later);
  CHECK(*later == std::vector<std::string>{"c"});
  cutter.hold(false);
  // It is waited for again, once it lives.
  CHECK(eventually([&] { return a->replicas()->size() == 2; }));
  CHECK(eventually([&] {
    const auto again = a->settle();
    return again && again->empty();
  }));
  CHECK(c_has == put.revision);
}

TEST_CASE("one that died is named for as long as it might go on, and forgotten then") {
  const auto prefix = EtcdServer::new_prefix();
  const auto store = EtcdServer::one().open(prefix);
  const auto a = joined(*store, "a");
  const auto put = [&](const std::string& name, const std::string& value) {
    EtcdServer::one().ask("/v3/kv/put", {{"key", crypto::base64_encode(prefix + "s/known/" + name)},
                                         {"value", crypto::base64_encode(value)}});
  };
  put("dead", R"({"honours":600,"lost":0})");
  put("long-dead", R"({"honours":600,"lost":1000})");
  for (int i = 0; i < 2; ++i) {
    const auto without = a->settle();
    REQUIRE(without);
    CHECK(*without == std::vector<std::string>{"dead"});
  }
}
