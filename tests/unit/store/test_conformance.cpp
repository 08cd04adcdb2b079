// SPDX-License-Identifier: Apache-2.0
// What every implementation of Store promises (daemon/store/store.hpp).
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <thread>

using namespace zoo;
using namespace zoo::store;
using test::Changes;
using test::StoreMaker;

TEST_CASE("a new store is empty") {
  StoreMaker maker;
  const auto store = maker.open();
  CHECK(store->get("tenant", "foofoo").error().code() == Code::not_found);
  const auto page = store->list("tenant").value();
  CHECK(page.records.empty());
  CHECK_FALSE(page.more);
}

TEST_CASE("what was put is what is got") {
  StoreMaker maker;
  const auto store = maker.open();
  const auto before = store->revision().value();
  const std::string value("{\"a\":\0\xff}", 9);
  const auto put = store->put("tenant", "foofoo", value).value();
  CHECK(put.revision > before);
  CHECK(put.created_revision == put.revision);
  const auto got = store->get("tenant", "foofoo").value();
  CHECK(got.kind == "tenant");
  CHECK(got.key == "foofoo");
  CHECK(got.value == value);
  CHECK(got.revision == put.revision);
  CHECK(got.created_revision == put.revision);
  CHECK(store->put("tenant", "foofoo", "").value().revision > put.revision);
  CHECK(store->get("tenant", "foofoo")->value.empty());
  CHECK(store->get("tenant", "foofoo")->created_revision == put.revision);
  CHECK(store->get("other", "foofoo").error().code() == Code::not_found);
}

TEST_CASE("0 as the expected revision means: must not exist") {
  StoreMaker maker;
  const auto store = maker.open();
  const auto first = store->put("tenant", "foofoo", "1", 0).value();
  const auto again = store->put("tenant", "foofoo", "2", 0);
  CHECK(again.error().code() == Code::already_exists);
  CHECK(again.error().message().find("foofoo") != std::string::npos);
  CHECK(store->get("tenant", "foofoo")->value == "1");
  CHECK(store->get("tenant", "foofoo")->revision == first.revision);
  CHECK(StoreMaker::is_at(*store, first.revision));
}

TEST_CASE("a stale revision changes nothing") {
  StoreMaker maker;
  const auto store = maker.open();
  const auto first = store->put("tenant", "foofoo", "1").value();
  const auto second = store->put("tenant", "foofoo", "2", first.revision).value();
  CHECK(store->put("tenant", "foofoo", "3", first.revision).error().code() == Code::conflict);
  CHECK(store->remove("tenant", "foofoo", first.revision).error().code() == Code::conflict);
  CHECK(store->get("tenant", "foofoo")->value == "2");
  CHECK(store->remove("tenant", "foofoo", second.revision));
  CHECK(store->put("tenant", "foofoo", "4", second.revision).error().code() == Code::not_found);
}

TEST_CASE("removal is a revision of its own, and what returns is new") {
  StoreMaker maker;
  const auto store = maker.open();
  CHECK(store->remove("tenant", "foofoo").error().code() == Code::not_found);
  const auto first = store->put("tenant", "foofoo", "1").value();
  const auto removed = store->remove("tenant", "foofoo").value();
  CHECK(removed > first.revision);
  CHECK(StoreMaker::is_at(*store, removed));
  CHECK(store->get("tenant", "foofoo").error().code() == Code::not_found);
  const auto returned = store->put("tenant", "foofoo", "2", 0).value();
  CHECK(returned.revision > removed);
  CHECK(returned.created_revision == returned.revision);
}

TEST_CASE("kinds, keys and values out of bounds are refused") {
  StoreMaker maker;
  const auto store = maker.open();
  CHECK(store->put("", "a", "").error().code() == Code::invalid);
  CHECK(store->put("k", "", "").error().code() == Code::invalid);
  CHECK(store->put(std::string(65, 'k'), "a", "").error().code() == Code::invalid);
  CHECK(store->put("k", std::string(513, 'a'), "").error().code() == Code::invalid);
  CHECK(store->put("k", std::string("a\0b", 3), "").error().code() == Code::invalid);
  CHECK(store->put("k", "a\nb", "").error().code() == Code::invalid);
  CHECK(store->put("k", "\xff", "").error().code() == Code::invalid);
  const auto most = store->limits().value;
  CHECK(store->put("k", "a", std::string(most + 1, 'v')).error().code() == Code::too_large);
  const auto put =
      store->put(std::string(64, 'k'), std::string(512, 'a'), std::string(most, 'v')).value();
  CHECK(store->get(std::string(64, 'k'), std::string(512, 'a'))->value.size() == most);
  CHECK(StoreMaker::is_at(*store, put.revision));
}

TEST_CASE("a list is in byte order, by prefix, and one kind only") {
  StoreMaker maker;
  const auto store = maker.open();
  for (const auto* key : {"b", "a", "ab", "a-1", "ä", "B", "a%", "a_"})
    REQUIRE(store->put("k", key, key));
  const auto last = store->put("other", "a2", "").value().revision;
  const auto keys = [&](std::string_view prefix) {
    std::string out;
    const auto page = store->list("k", prefix).value();
    for (const auto& record : page.records)
      out += record.key + " ";
    CHECK(page.revision >= last);
    return out;
  };
  CHECK(keys("") == "B a a% a-1 a_ ab b ä ");
  CHECK(keys("a") == "a a% a-1 a_ ab ");
  CHECK(keys("a_") == "a_ ");
  CHECK(keys("a%") == "a% ");
  CHECK(keys("zz") == "");
  CHECK(keys("\xff") == "");
}

TEST_CASE("a list goes on behind a key, within its prefix") {
  StoreMaker maker;
  const auto store = maker.open();
  for (const auto* key : {"a", "b-1", "b-2", "b-3", "c"})
    REQUIRE(store->put("k", key, key));
  const auto keys = [&](std::string_view prefix, std::string_view after) {
    std::string out;
    const auto page = store->list("k", prefix, after, 0).value();
    for (const auto& record : page.records)
      out += record.key + " ";
    return out;
  };
  CHECK(keys("b-", "a") == "b-1 b-2 b-3 ");
  CHECK(keys("b-", "b") == "b-1 b-2 b-3 ");
  CHECK(keys("b-", "b-") == "b-1 b-2 b-3 ");
  CHECK(keys("b-", "b-2") == "b-3 ");
  CHECK(keys("b-", "b-22") == "b-3 ");
  CHECK(keys("b-", "b-3") == "");
  CHECK(keys("b-", "c") == "");
  CHECK(keys("", "b-2") == "b-3 c ");
}

TEST_CASE("pages together give every record once") {
  StoreMaker maker;
  const auto store = maker.open();
  for (int i = 0; i < 25; ++i)
    REQUIRE(store->put("k", fmt::format("p-{:03}", i), ""));
  REQUIRE(store->put("k", "q", ""));
  for (const std::size_t limit : {1u, 7u, 25u, 26u, 1000u}) {
    std::string after;
    std::size_t seen = 0;
    for (bool more = true; more;) {
      const auto page = store->list("k", "p-", after, limit).value();
      CHECK(page.records.size() <= limit);
      for (const auto& record : page.records)
        CHECK(record.key == fmt::format("p-{:03}", seen++));
      more = page.more;
      if (!page.records.empty()) after = page.records.back().key;
    }
    CHECK(seen == 25);
  }
}

TEST_CASE("a watch delivers every change of its kind in order") {
  StoreMaker maker;
  const auto store = maker.open();
  Changes changes;
  const auto watch = store
                         ->watch("k", store->revision().value(),
                                 [&](const Change& change) { changes.add(change); })
                         .value();
  const auto first = store->put("k", "a", "1").value();
  REQUIRE(store->put("other", "a", "x"));
  const auto second = store->put("k", "a", "2").value();
  const auto removed = store->remove("k", "a").value();
  const auto seen = changes.wait_for(3);
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].created);
  CHECK(seen[0].record.value == "1");
  CHECK(seen[0].record.revision == first.revision);
  CHECK_FALSE(seen[1].created);
  CHECK(seen[1].record.revision == second.revision);
  CHECK(seen[1].record.created_revision == first.revision);
  CHECK(seen[2].type == Change::Type::removed);
  CHECK(seen[2].record.value == "2");
  CHECK(seen[2].record.revision == removed);
}

TEST_CASE("a watch from a revision in the past begins right after it") {
  StoreMaker maker;
  const auto store = maker.open();
  std::vector<std::int64_t> revisions{0};
  for (int i = 1; i <= 10; ++i)
    revisions.push_back(store->put("k", "a", std::to_string(i)).value().revision);
  Changes changes;
  const auto watch =
      store->watch("k", revisions[4], [&](const Change& change) { changes.add(change); }).value();
  revisions.push_back(store->put("k", "a", "11").value().revision);
  const auto seen = changes.wait_for(7);
  REQUIRE(seen.size() == 7);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].record.revision == revisions[i + 5]);
    CHECK(seen[i].record.value == std::to_string(i + 5));
  }
}

TEST_CASE("a change is readable when its watch hears of it") {
  StoreMaker maker;
  const auto store = maker.open();
  std::promise<std::string> read;
  const auto watch = store
                         ->watch("k", store->revision().value(),
                                 [&](const Change& change) {
                                   read.set_value(store->get("k", change.record.key)->value);
                                 })
                         .value();
  REQUIRE(store->put("k", "a", "durable"));
  CHECK(read.get_future().get() == "durable");
}

TEST_CASE("a watch that has ended hears nothing more, and may end itself") {
  StoreMaker maker;
  const auto store = maker.open();
  int heard = 0;
  Subscription own;
  std::promise<void> ended;
  own = store
            ->watch("k", store->revision().value(),
                    [&](const Change&) {
                      ++heard;
                      own.reset();
                      ended.set_value();
                    })
            .value();
  const auto first = store->put("k", "a", "").value().revision;
  ended.get_future().wait();
  Changes changes;
  auto other = store->watch("k", first, [&](const Change& change) { changes.add(change); }).value();
  REQUIRE(store->put("k", "a", ""));
  REQUIRE(changes.wait_for(1).size() == 1);
  CHECK(heard == 1);
  other.reset();
  REQUIRE(store->put("k", "a", ""));
  CHECK(changes.wait_for(0).size() == 1);
}

TEST_CASE("a callback that throws costs only itself") {
  StoreMaker maker;
  const auto store = maker.open();
  Changes changes;
  const auto from = store->revision().value();
  const auto bad =
      store->watch("k", from, [](const Change&) { throw std::runtime_error("bad"); }).value();
  const auto good =
      store->watch("k", from, [&](const Change& change) { changes.add(change); }).value();
  REQUIRE(store->put("k", "a", ""));
  REQUIRE(store->put("k", "a", ""));
  CHECK(changes.wait_for(2).size() == 2);
}

TEST_CASE("threads that compare and set lose no increment, and a watch sees each") {
  StoreMaker maker;
  const auto store = maker.open();
  const auto begun = store->put("k", "counter", "0").value().revision;
  Changes changes;
  const auto watch =
      store->watch("k", begun, [&](const Change& change) { changes.add(change); }).value();
  constexpr int k_threads = 4, k_each = 15;
  std::vector<std::thread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&] {
      for (int done = 0; done < k_each;) {
        const auto now = store->get("k", "counter").value();
        const auto next = std::to_string(std::stoi(now.value) + 1);
        if (store->put("k", "counter", next, now.revision)) ++done;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  const auto seen = changes.wait_for(k_threads * k_each);
  REQUIRE(seen.size() == k_threads * k_each);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    CHECK(seen[i].record.value == std::to_string(i + 1));
    CHECK(seen[i].record.revision > (i == 0 ? begun : seen[i - 1].record.revision));
  }
}

TEST_CASE("writes that come together keep their own outcomes, and one order") {
  StoreMaker maker;
  const auto store = maker.open();
  const auto begun = store->put("k", "wanted", "0").value().revision;
  Changes changes;
  const auto watch =
      store->watch("k", begun, [&](const Change& change) { changes.add(change); }).value();
  constexpr int k_threads = 12, k_each = 10;
  std::atomic<int> made = 0, refused = 0, moved = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < k_threads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < k_each; ++i) {
        const auto own = fmt::format("own-{:02}-{}", t, i);
        const auto written = store->put("k", own, own, 0);
        if (!written || written->value != own || written->key != own) ++wrong;
        // One of them makes it, the others are told so.
        const auto shared = store->put("k", fmt::format("shared-{}", i), own, 0);
        if (shared) {
          ++made;
        } else if (shared.error().code() == Code::already_exists) {
          ++refused;
        }
        if (store->put("k", "wanted", own, begun)) ++moved;
        if (i % 2 == 0 && !store->remove("k", own)) ++wrong;
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(made == k_each);
  CHECK(refused == (k_threads - 1) * k_each);
  CHECK(moved == 1);
  const std::size_t all = k_threads * k_each + k_threads * k_each / 2 + k_each + 1;
  const auto seen = changes.wait_for(all);
  REQUIRE(seen.size() == all);
  for (std::size_t i = 0; i < all; ++i)
    CHECK(seen[i].record.revision > (i == 0 ? begun : seen[i - 1].record.revision));
  CHECK(StoreMaker::is_at(*store, seen.back().record.revision));
}

TEST_CASE("everything is there after reopening, revisions and history too") {
  StoreMaker maker;
  std::int64_t first = 0, removed = 0;
  {
    const auto store = maker.open();
    first = store->put("k", "a", "1").value().revision;
    REQUIRE(store->put("k", "b", "2"));
    removed = store->remove("k", "b").value();
  }
  const auto store = maker.open();
  CHECK(StoreMaker::is_at(*store, removed));
  CHECK(store->get("k", "a")->value == "1");
  CHECK(store->get("k", "b").error().code() == Code::not_found);
  Changes changes;
  const auto watch =
      store->watch("k", first, [&](const Change& change) { changes.add(change); }).value();
  const auto seen = changes.wait_for(2);
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].type == Change::Type::removed);
  CHECK(seen[1].record.revision == removed);
  CHECK(store->put("k", "c", "3")->revision > removed);
}

TEST_CASE("a snapshot is all that there is, and is taken up with its revision") {
  StoreMaker maker, another;
  const auto store = maker.open();
  const std::string value("a\0b", 3);
  REQUIRE(store->put("tenant", "foofoo", value));
  REQUIRE(store->put("tenant", "barbar", "2"));
  REQUIRE(store->put("keyring", "x", "3"));
  const auto removed = store->remove("tenant", "barbar").value();
  auto taken = store->snapshot().value();
  CHECK(taken.revision >= removed);
  REQUIRE(taken.records.size() == 2);
  CHECK(taken.records[0].kind == "keyring");
  CHECK(taken.records[1].value == value);

  // Far above what the program's etcd has come to.
  taken.revision = 1'000'000'000;
  const auto other = another.open();
  REQUIRE(other->load(taken));
  const auto loaded = other->revision().value();
  CHECK(loaded >= 1'000'000'000);
  CHECK(other->get("tenant", "foofoo")->value == value);
  CHECK(other->get("tenant", "foofoo")->revision <= loaded);
  CHECK(other->list("keyring").value().records.size() == 1);
  const auto from = [&](std::int64_t revision) {
    return other->watch("tenant", revision, [](const Change&) {});
  };
  CHECK(from(removed).error().code() == Code::expired);
  CHECK(from(999'999'998).error().code() == Code::expired);
  CHECK(from(loaded));
  CHECK(other->put("tenant", "barbar", "4").value().revision > loaded);
  CHECK(other->load(taken).error().code() == Code::conflict);
}

TEST_CASE("several records are written together or not at all") {
  StoreMaker maker;
  const auto store = maker.open();
  const auto a = store->put("k", "a", "1").value().revision;
  const auto guard = store->put("other", "g", "1").value().revision;
  Changes changes;
  const auto watch =
      store->watch("k", guard, [&](const Change& change) { changes.add(change); }).value();
  const auto write = [&](std::vector<Op> ops, std::vector<Guard> guards = {}) {
    return store->write(ops, guards);
  };
  CHECK(write({{"k", "a", "2", a}, {"k", "b", "2", 7'777}}).error().code() == Code::not_found);
  CHECK(write({{"k", "b", "2", 0}, {"k", "a", "2", 0}}).error().code() == Code::already_exists);
  CHECK(write({{"k", "b", "2", 0}, {"k", "c", {}, {}, true}}).error().code() == Code::not_found);
  CHECK(write({{"k", "b", "2", 0}}, {{"other", "g", guard - 1}}).error().code() == Code::conflict);
  CHECK(write({{"k", "b", "2", 0}}, {{"other", "g", 0}}).error().code() == Code::conflict);
  CHECK(write({{"k", "b", "2", 0}}, {{"other", "h", 5}}).error().code() == Code::conflict);
  CHECK(write({{"k", "b", "2"}, {"k", "b", "3"}}).error().code() == Code::invalid);
  CHECK(write({}).error().code() == Code::invalid);
  CHECK(store->list("k")->records.size() == 1);
  CHECK(store->get("k", "a")->revision == a);

  const auto done = write({{"k", "a", {}, a, true}, {"k", "b", "2", 0}, {"k", "c", "3"}},
                          {{"other", "g", guard}, {"other", "h", 0}})
                        .value();
  CHECK(store->get("k", "a").error().code() == Code::not_found);
  CHECK(store->get("k", "c")->revision == done);
  CHECK(StoreMaker::is_at(*store, done));
  const auto seen = changes.wait_for(3);
  REQUIRE(seen.size() == 3);
  CHECK(seen[0].record.revision <= seen[1].record.revision);
  CHECK(seen[2].record.revision == done);
}
