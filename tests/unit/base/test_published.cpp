// SPDX-License-Identifier: Apache-2.0
#include "common/base/published.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>
#include <vector>

using zoo::Published;

TEST_CASE("what is published is null until then, and swapped whole") {
  Published<const int> value;
  CHECK(value.load() == nullptr);
  const auto one = std::make_shared<const int>(1);
  value.store(one);
  CHECK(value.load() == one);
  CHECK(one.use_count() == 2);
  value.store(nullptr);
  CHECK(value.load() == nullptr);
  CHECK(one.use_count() == 1);
  CHECK(*Published<const int>(one).load() == 1);
}

TEST_CASE("a value may look at its successor while it ends") {
  struct Ends {
    Published<Ends>* where;
    bool* seen;
    ~Ends() {
      if (seen != nullptr) *seen = where->load() != nullptr;
    }
  };
  Published<Ends> value;
  bool seen = false;
  value.store(std::make_shared<Ends>(Ends{&value, nullptr}));
  value.load()->seen = &seen;
  value.store(std::make_shared<Ends>(Ends{&value, nullptr}));
  CHECK(seen);
}

TEST_CASE("readers see whole values, none older than one seen before") {
  struct Pair {
    int one, two;
  };
  constexpr int last = 2'000;
  Published<const Pair> value(std::make_shared<const Pair>(Pair{0, 0}));
  std::array<int, 3> torn{}, backward{};
  {
    std::vector<std::jthread> readers;
    for (std::size_t i = 0; i < torn.size(); ++i) {
      readers.emplace_back([&, i] {
        for (int before = 0; before != last;) {
          const auto now = value.load();
          if (now->one != now->two) ++torn[i];
          if (now->one < before) ++backward[i];
          before = now->one;
        }
      });
    }
    for (int i = 1; i <= last; ++i)
      value.store(std::make_shared<const Pair>(Pair{i, i}));
  }
  CHECK(torn == std::array<int, 3>{});
  CHECK(backward == std::array<int, 3>{});
}
