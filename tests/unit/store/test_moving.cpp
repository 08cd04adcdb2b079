// SPDX-License-Identifier: Apache-2.0
// Records that go from a file into each kind of store, and back.
#include "daemon/store/held.hpp"
#include "daemon/store/moving.hpp"
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace zoo;
using namespace zoo::store;
using test::StoreMaker;
using test::TemporaryDirectory;

namespace {

std::unique_ptr<Store> file_in(const TemporaryDirectory& directory, const char* name) {
  return open_sqlite({directory.path() / name, {}, 5'000}).value();
}

void fill(Store& store) {
  for (int i = 0; i < 250; ++i)
    REQUIRE(store.put(i % 3 == 0 ? "tenant" : "certificate", fmt::format("k/{:03}", i),
                      std::string(static_cast<std::size_t>(i), 'v')));
  REQUIRE(store.put("zz", "\xc3\xa4", std::string("\0\xff", 2)));
  REQUIRE(store.put("a%/b", "x", "1"));
}

} // namespace

TEST_CASE("records are moved whole, versions rise, and no zood starts on what they left") {
  const TemporaryDirectory directory;
  StoreMaker maker;
  const auto from = file_in(directory, "from");
  fill(*from);
  const auto before = from->snapshot().value();
  const auto there = maker.open();
  const auto weight = weigh_store(*from, there->limits()).value();
  CHECK(weight.records == 252);
  const auto moved = copy_store(*from, *there).value();
  CHECK(moved.records == 252);
  CHECK(moved.digest == weight.digest);
  CHECK(moved.revision > before.revision + 1'000'000);
  CHECK(there->get("zz", "\xc3\xa4")->value == std::string("\0\xff", 2));
  CHECK(there->get("a%/b", "x")->revision >= before.revision);
  CHECK(there->watch("tenant", before.revision, [](const Change&) {}).error().code() ==
        Code::expired);
  CHECK(from->get("zz", "\xc3\xa4")->revision == before.records.back().revision);

  // Not in use yet: it may be cleared. The old one is in use until it is marked.
  CHECK(may_clear(*there).value());
  CHECK_FALSE(may_clear(*from).value());
  CHECK(take_into_use(*from));
  REQUIRE(mark_moved(*from, "etcd of somewhere"));
  const auto refused = take_into_use(*from);
  REQUIRE(!refused);
  CHECK(refused.error().code() == Code::usage);
  CHECK(refused.error().message().find("moved to etcd of somewhere") != std::string::npos);
  CHECK(may_clear(*from).value());
  CHECK(take_into_use(*there));
  CHECK(take_into_use(*there));
  CHECK_FALSE(may_clear(*there).value());

  // And back, into a file: the mark that it was moved is not taken along.
  REQUIRE(there->put("tenant", "new", "1"));
  const auto last = there->revision().value();
  const auto back = file_in(directory, "back");
  const auto again = copy_store(*there, *back).value();
  CHECK(again.records == 253);
  CHECK(again.revision > last);
  CHECK(take_into_use(*back));
  CHECK(back->get("tenant", "new")->value == "1");
  CHECK(back->list("tenant")->records.size() == 85);
}

TEST_CASE("what is not empty is not written to, and what was not finished does not start") {
  const TemporaryDirectory directory;
  StoreMaker maker;
  const auto from = file_in(directory, "from");
  fill(*from);
  const auto there = maker.open();
  REQUIRE(there->put("tenant", "somebody", "1"));
  CHECK(copy_store(*from, *there).error().code() == Code::conflict);
  CHECK_FALSE(may_clear(*there).value());
  CHECK(there->snapshot()->records.size() == 1);

  StoreMaker another;
  const auto half = another.open();
  REQUIRE(half->put("store", "arriving", R"({"whole": false})"));
  CHECK(take_into_use(*half).error().code() == Code::conflict);
  CHECK(may_clear(*half).value());
}

TEST_CASE("a record that the new store would not take is told of before anything is written") {
  const TemporaryDirectory directory;
  StoreMaker maker;
  const auto from = file_in(directory, "from");
  REQUIRE(from->put("k", "large", std::string(from->limits().value, 'v')));
  const auto there = maker.open();
  const auto weight = weigh_store(*from, {1'000, 100});
  REQUIRE(!weight);
  CHECK(weight.error().code() == Code::too_large);
  CHECK(weight.error().message().find("large") != std::string::npos);
  if (there->limits().value < from->limits().value) {
    CHECK(copy_store(*from, *there).error().code() == Code::too_large);
  } else {
    CHECK(copy_store(*from, *there));
  }
}

TEST_CASE("writes are held while the records are copied, and reads go on") {
  StoreMaker maker;
  HeldStore store(maker.open());
  const auto put = store.put("k", "a", "1", {}).value();
  store.hold("they are being moved");
  const auto refused = store.put("k", "a", "2", {});
  REQUIRE(!refused);
  CHECK(refused.error().code() == Code::unavailable);
  CHECK(refused.error().message().find("being moved") != std::string::npos);
  CHECK(store.remove("k", "a", {}).error().code() == Code::unavailable);
  const std::vector<Op> ops{{"k", "b", "1"}};
  CHECK(store.write(ops, {}, {}).error().code() == Code::unavailable);
  CHECK(store.get("k", "a")->revision == put.revision);
  CHECK(store.inner().put("k", "mark", "1"));
  store.release();
  CHECK(store.put("k", "a", "2", {}));
}
