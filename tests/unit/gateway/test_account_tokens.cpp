// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_view_source.hpp"
#include "gateway_world.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <vector>

using namespace zoo;
using namespace zoo::test;

namespace {

std::shared_ptr<WorldClient> ask_with(GatewayWorld& world, std::size_t token) {
  http::RequestHead head;
  head.method = "GET";
  head.target = "/api/v1/nodes";
  head.headers.add("Authorization", fmt::format("Bearer token-{}", token));
  return world.ask("stranger-at-accounts", std::move(head), "");
}

std::shared_ptr<WorldClient> john_asks(GatewayWorld& world, std::string_view target) {
  http::RequestHead head;
  head.method = "GET";
  head.target = target;
  return world.ask("john", std::move(head), "");
}

/// Upstream verifies a token, and says that it is nobody's.
bool upstream_refuses(GatewayWorld& world) {
  return world.eventually([&] {
    while (const auto asked = world.upstream().next()) {
      const bool review = asked->head.target.ends_with("/tokenreviews");
      Said said;
      said.status = review ? 201 : 404;
      said.headers.add("Content-Type", "application/json");
      said.body = review ? R"({"kind":"TokenReview","status":{"authenticated":false}})" : "{}";
      world.upstream().say(said);
      if (review) return true;
    }
    return false;
  });
}

} // namespace

TEST_CASE("a certificate does not outlive its authority: neither its requests nor its streams") {
  GatewayWorld world;
  const auto watch = john_asks(world, "/apis/tenancy.kiosk.sh/v1alpha1/spaces?watch=1");
  CHECK(world.eventually([&] { return watch->head_came; }));
  world.on([&] {
    CHECK(watch->head.status == 200);
    CHECK_FALSE(watch->over());
  });
  world.trust_nobody();
  const auto after = john_asks(world, "/api");
  CHECK(world.eventually([&] { return after->over(); }));
  world.on([&] { CHECK(after->head.status == 401); });
  CHECK(world.eventually([&] { return watch->over(); }));
}

TEST_CASE("a connection has eight tokens verified at a time, and each of them once") {
  constexpr auto k_most = accounts::AccountViewSource::k_max_asked_of_connection;
  GatewayWorld world;
  std::vector<std::shared_ptr<WorldClient>> clients;
  for (std::size_t token = 0; token < k_most; ++token)
    clients.push_back(ask_with(world, token));
  const auto again = ask_with(world, 0);
  const auto beyond = ask_with(world, k_most);
  world.on([&] {
    CHECK(beyond->head.status == 429);
    CHECK_FALSE(again->over());
  });
  std::size_t reviews = 0;
  CHECK(world.eventually([&] {
    while (const auto asked = world.upstream().next())
      if (asked->head.target.ends_with("/tokenreviews")) ++reviews;
    return reviews >= k_most;
  }));
  world.settle();
  CHECK(reviews == k_most);
}

TEST_CASE("of tokens that nobody has signed no refusal is kept: it would push out good ones") {
  GatewayWorld world;
  for (int time = 0; time < 2; ++time) {
    CAPTURE(time);
    const auto client = ask_with(world, 0);
    CHECK(upstream_refuses(world));
    CHECK(world.eventually([&] { return client->over(); }));
    world.on([&] { CHECK(client->head.status == 401); });
  }
}
