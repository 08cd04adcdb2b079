// SPDX-License-Identifier: Apache-2.0
#include "common/base/ordered_chunks.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

using zoo::OrderedNames;

namespace {

std::set<std::string> all_of(const OrderedNames& names) {
  std::set<std::string> out;
  std::string before;
  names.visit("", [&](const std::string& name) {
    CHECK((out.empty() || before < name));
    before = name;
    out.insert(name);
    return true;
  });
  return out;
}

} // namespace

TEST_CASE("ordered names are a set of which a copy stays as it was") {
  std::mt19937 random(7);
  OrderedNames names;
  std::set<std::string> model;
  std::vector<std::pair<OrderedNames, std::set<std::string>>> copies;
  for (int i = 0; i < 4'000; ++i) {
    const auto name = "n" + std::to_string(random() % 1'000);
    if (random() % 3 == 0) {
      CHECK(names.remove(name) == (model.erase(name) != 0));
    } else {
      names.put(name);
      model.insert(name);
    }
    REQUIRE(names.contains(name) == model.contains(name));
    if (i % 500 == 0) copies.emplace_back(names, model);
  }
  copies.emplace_back(names, model);
  for (const auto& [copy, then] : copies) {
    CHECK(copy.size() == then.size());
    CHECK(all_of(copy) == then);
  }
  names.clear();
  CHECK(names.size() == 0);
  CHECK_FALSE(names.contains("n1"));
}
