// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/access/views.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace zoo::access;
using zoo::access::test::k_callers;
using zoo::access::test::view_of;

TEST_CASE("a view's answers have no default") {
  CHECK_FALSE(std::is_default_constructible_v<Answers>);
  CHECK_FALSE(std::is_default_constructible_v<View>);
  CHECK_FALSE(std::is_default_constructible_v<Actor>);
}

TEST_CASE("every fence holds for a tenant, with every kind that zood answers itself") {
  const auto view = view_of(k_tenant_answers, "foofoo");
  for (const auto fence : {Fence::kinds, Fence::objects, Fence::tokens, Fence::ceilings})
    CHECK(view.holds(fence));
  for (const auto local : {Local::roles, Local::namespaces, Local::kept_kinds, Local::reviews})
    CHECK(view.serves(local));
  CHECK(view.shows_own_keys());
  CHECK(view.viewer().fenced());
}

TEST_CASE("fences are given, not inferred from names") {
  // Without a prefix they hold where they were given, and with one they do not where not.
  auto answers = k_callers;
  answers.fences = {Fence::kinds, Fence::tokens};
  const auto bare = view_of(answers, "");
  CHECK(bare.holds(Fence::kinds));
  CHECK(bare.holds(Fence::tokens));
  CHECK_FALSE(bare.holds(Fence::objects));
  CHECK(bare.viewer().fenced());
  CHECK_FALSE(bare.shows_own_keys());
  CHECK_FALSE(view_of(k_callers, "foofoo").viewer().fenced());
}

TEST_CASE("a mapping alone is held to the platform's rules, with a prefix or without") {
  const auto bare = view_of(k_callers, "");
  CHECK(zoo::translate::Viewer(bare.mapping).fenced());
}
