// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/authorizer.hpp"

#include <doctest/doctest.h>

using namespace zoo::tenants;

TEST_CASE("super-users are the members of two groups") {
  const auto group = [](std::vector<std::string> groups) {
    zoo::access::Principal identity;
    identity.user = "jane";
    identity.groups = std::move(groups);
    return std::string(super_user_group(identity, "zoo:cluster-admins"));
  };
  CHECK(group({"developers", "zoo:cluster-admins"}) == "zoo:cluster-admins");
  CHECK(group({"system:masters"}) == "system:masters");
  CHECK(group({}) == "");
  CHECK(group({"zoo:cluster-admins2", "system:authenticated"}) == "");
}
