// SPDX-License-Identifier: Apache-2.0
#include "common/base/secret.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace zoo;

static_assert(!std::is_copy_constructible_v<Secret>);
static_assert(!std::is_convertible_v<Secret, std::string>);

TEST_CASE("a secret takes the bytes over and leaves nothing behind") {
  for (const std::size_t size : {5u, 500u}) {
    std::string bytes(size, 'k');
    const Secret secret(std::move(bytes));
    CHECK(secret.view() == std::string(size, 'k'));
    CHECK(bytes.empty()); // NOLINT: that is the point
    CHECK(bytes.data()[0] == '\0');
  }
}

TEST_CASE("a moved-from secret is empty") {
  auto one = Secret::copy_of("key");
  Secret two(std::move(one));
  CHECK(one.empty()); // NOLINT
  CHECK(two.view() == "key");
  auto three = Secret::copy_of("other");
  three = std::move(two);
  CHECK(two.empty()); // NOLINT
  CHECK(three.view() == "key");
}

TEST_CASE("a secret survives being assigned to itself") {
  auto one = Secret::copy_of("key");
  auto& same = one;
  one = std::move(same);
  CHECK(one.view() == "key");
}

TEST_CASE("clone copies on purpose") {
  const auto one = Secret::copy_of(std::string("k\0y", 3));
  CHECK(one.clone().view() == std::string_view("k\0y", 3));
}
