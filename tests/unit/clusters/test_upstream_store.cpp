// SPDX-License-Identifier: Apache-2.0
// Which upstream a virtual cluster was in, and what is believed of another one.
#include "daemon/clusters/upstream_store.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>

using namespace zoo;
using namespace zoo::clusters;
using nlohmann::json;

namespace {

Record cluster_in(const std::string& store, json annotations = json::object()) {
  Record out;
  out.object = {{"metadata",
                 {{"name", "t1"}, {"namespace", "team"}, {"annotations", std::move(annotations)}}}};
  out.place.id = "abc123";
  out.place.upstream = "order-1";
  out.place.upstream_store = store;
  return out;
}

} // namespace

TEST_CASE("that an order is gone is believed of the store alone in which it was seen") {
  CHECK(may_miss_order(cluster_in("store-1"), "store-1"));
  const auto other = may_miss_order(cluster_in("store-1"), "store-2");
  REQUIRE_FALSE(other);
  CHECK(other.error().code() == Code::unavailable);
  CHECK(other.error().message().find("has UID store-2, and had store-1") != std::string::npos);
  // Of a record of a version before nobody knows in which one that was.
  const auto unknown = may_miss_order(cluster_in(""), "store-2");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code() == Code::unavailable);
  CHECK(unknown.error().message().find("it is not known whether the upstream") !=
        std::string::npos);
  for (const auto* each : {&other, &unknown})
    CHECK(each->error().message().find("zooctl cluster delete t1 -n team") != std::string::npos);
}

TEST_CASE("what a cluster has in another store is waited for, or left there by wish") {
  using Is = tenants::RoomPlace::Is;
  CHECK(place_of_room(cluster_in("store-1"), "store-1").is == Is::here);
  CHECK(place_of_room(cluster_in(""), "store-2").is == Is::here); // it had nothing upstream
  const auto other = place_of_room(cluster_in("store-1"), "store-2");
  CHECK(other.is == Is::elsewhere);
  CHECK(other.words.find("has UID store-1, and the upstream's has store-2") != std::string::npos);
  CHECK(other.words.find("kubectl annotate virtualcluster t1 -n team "
                         "clusters.zoo.kubezoo.io/leave-upstream=store-1") != std::string::npos);
  CHECK(place_of_room(cluster_in("store-1", {{k_leave_annotation, "store-1"}}), "store-2").is ==
        Is::given_up);
  // Such a wish is of one store, and of no use while that one is there.
  CHECK(place_of_room(cluster_in("store-1", {{k_leave_annotation, "store-0"}}), "store-2").is ==
        Is::elsewhere);
  CHECK(place_of_room(cluster_in("store-1", {{k_leave_annotation, "store-1"}}), "store-1").is ==
        Is::here);
}
