// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/grant.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters;

namespace {

Record record(const std::string& name, std::vector<std::string> nodes, bool exclusive) {
  Record out;
  out.object = {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}}};
  out.place.nodes = std::move(nodes);
  out.place.exclusive = exclusive;
  return out;
}
using Nodes = std::vector<std::string>;

} // namespace

TEST_CASE("clusters share nodes until one has them alone") {
  const auto a = record("a", {"n1", "n2"}, false);
  const auto shared = grant_nodes(record("b", {}, false), {"n1", "n3"}, false, {a});
  CHECK(shared.nodes == Nodes{"n1", "n3"});
  CHECK_FALSE(shared.contest);
  const auto alone = grant_nodes(record("b", {}, false), {"n3"}, true, {a});
  CHECK(alone.exclusive);
  CHECK(alone.nodes == Nodes{"n3"});
}

TEST_CASE("who asks later does not have what another one has alone") {
  const auto a = record("a", {"n1"}, true);
  for (const bool exclusive : {false, true}) {
    const auto grant = grant_nodes(record("b", {}, false), {"n1", "n2"}, exclusive, {a});
    CHECK(grant.nodes == Nodes{"n2"});
    CHECK(grant.exclusive == exclusive);
    REQUIRE(grant.contest);
    CHECK(grant.contest->node == "n1");
    CHECK(grant.contest->holder == "default/a");
    CHECK(grant.contest->exclusive);
  }
}

TEST_CASE("what a cluster has it keeps, but not alone while others have it") {
  const auto a = record("a", {"n1"}, false);
  const auto b = record("b", {"n1"}, false);
  const auto grant = grant_nodes(b, {"n1"}, true, {a, b});
  CHECK(grant.nodes == Nodes{"n1"});
  CHECK_FALSE(grant.exclusive);
  REQUIRE(grant.contest);
  CHECK(grant.contest->holder == "default/a");
  CHECK(grant_nodes(b, {"n1"}, true, {b}).exclusive); // it was alone by then
  CHECK(grant_nodes(record("c", {}, false), {"n1"}, true, {a}).nodes.empty());
}
