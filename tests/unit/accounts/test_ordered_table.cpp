// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/ordered_table.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

using zoo::accounts::OrderedTable;

namespace {

struct Entry {
  std::string name;
  int value;
};

std::string text_of(const OrderedTable<Entry>& table, std::string_view after = {}) {
  std::string out;
  table.visit(after, [&](const auto& one) {
    out += one->name + "=" + std::to_string(one->value) + " ";
    return true;
  });
  return out;
}

std::string text_of(const std::map<std::string, int>& model, const std::string& after = {}) {
  std::string out;
  for (const auto& [name, value] : model) {
    if (after.empty() || name > after) out += name + "=" + std::to_string(value) + " ";
  }
  return out;
}

} // namespace

TEST_CASE("an ordered table does what a map does, and its copies stay as they were") {
  std::mt19937 random(7); // NOLINT: the same sequence each time
  OrderedTable<Entry> table;
  std::map<std::string, int> model;
  OrderedTable<Entry> copy;
  std::map<std::string, int> model_of_copy;
  for (int step = 0; step < 20'000; ++step) {
    const auto name = "n" + std::to_string(random() % 900);
    if (random() % 5 < 2) {
      CHECK(table.remove(name) == (model.erase(name) == 1));
    } else {
      table.put(std::make_shared<const Entry>(Entry{name, step}));
      model[name] = step;
    }
    REQUIRE(table.size() == model.size());
    const auto found = table.find(name);
    REQUIRE((found != nullptr) == model.contains(name));
    if (step % 1'000 != 0) continue;
    CHECK(text_of(table) == text_of(model));
    CHECK(text_of(table, name) == text_of(model, name));
    CHECK(text_of(copy) == text_of(model_of_copy));
    copy = table;
    model_of_copy = model;
  }
}

TEST_CASE("a visit ends where it is told to") {
  OrderedTable<Entry> table;
  for (const char* name : {"a", "b", "c"})
    table.put(std::make_shared<const Entry>(Entry{name, 0}));
  std::string seen;
  table.visit("a", [&](const auto& one) {
    seen += one->name;
    return one->name != "b";
  });
  CHECK(seen == "b");
  table.visit("c", [&](const auto& one) {
    seen += one->name;
    return true;
  });
  CHECK(seen == "b");
}
