// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/authorizer.hpp"

#include <doctest/doctest.h>

using namespace zoo::gateway;

TEST_CASE("only the tenant's administrator passes") {
  const AdministratorOnly authorizer("zoo:cluster-admins");
  const auto ask = [&](std::vector<std::string> groups) {
    Decision out;
    authorizer.authorize({"jane", std::move(groups), ""}, {},
                         [&](Decision decision) { out = std::move(decision); });
    return out;
  };
  CHECK(ask({"developers", "zoo:cluster-admins"}).allowed);
  CHECK_FALSE(ask({}).allowed);
  CHECK_FALSE(ask({"zoo:cluster-admins2"}).allowed);
  CHECK_FALSE(ask({"system:masters"}).allowed);
  CHECK_FALSE(ask({}).reason.empty());
}
