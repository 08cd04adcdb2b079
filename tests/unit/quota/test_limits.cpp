// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/limits.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::quota;

TEST_CASE("of several quotas the lowest limit of each name holds") {
  const QuotaSpec quotas[] = {
      {"a", R"({"hard":{"pods":"10","limits.cpu":"4"}})"},
      {"b", R"({"hard":{"pods":"3","secrets":5}})"},
      {"broken", R"({"hard":{"pods":"many"}})"},
      {"none", "no json"},
      {"best", R"({"hard":{"pods":"2"},"scopes":["BestEffort"]})"},
      {"best-too", R"({"hard":{"pods":"1"},"scopeSelector":{"matchExpressions":[
          {"scopeName":"BestEffort","operator":"Exists"}]}})"}};
  const auto limits = limits_of(quotas);
  REQUIRE(limits.size() == 2);
  CHECK(resources_json(limits[0].hard) == R"({"limits.cpu":"4","pods":"3","secrets":"5"})");
  CHECK(limits[0].from.at("pods") == "b");
  CHECK(limits[0].from.at("limits.cpu") == "a");
  CHECK(limits[0].slice_name == "zoo-quota");
  CHECK(resources_json(limits[1].hard) == R"({"pods":"1"})");
  CHECK(limits[1].from.at("pods") == "best-too");
  CHECK(limits[1].slice_name.starts_with("zoo-quota-"));
  CHECK(limits[1].slice_name.size() == k_slice.size() + 9);
  CHECK(slice_spec(limits[1], {{"pods", kube::Quantity::of(1)}}) ==
        R"({"hard":{"pods":"1"},"scopeSelector":{"matchExpressions":[)"
        R"({"scopeName":"BestEffort","operator":"Exists"}]}})");
}

TEST_CASE("a slice is read from its ResourceQuota") {
  const auto tree = translate::JsonTree::parse(
      R"({"spec":{"hard":{"pods":"3"}},"status":{"hard":{"pods":"2"},"used":{"pods":1}}})");
  REQUIRE(tree);
  const auto slice = read_slice(tree->root());
  CHECK(slice.spec.at("pods") == kube::Quantity::of(3));
  CHECK(slice.hard.at("pods") == kube::Quantity::of(2));
  CHECK(slice.used.at("pods") == kube::Quantity::of(1));
}

TEST_CASE("what no ResourceQuota may have is left out alone, and told") {
  const QuotaSpec quotas[] = {
      {"good", R"({"hard":{"pods":"10","requests.nvidia.com/gpu":"2","hugepages-2Mi":"1Gi"}})"},
      {"bad", R"({"hard":{"cpus":"4","secrets":"3","services":"500m","count/jobs.batch":"1.5"}})"},
      {"scoped", R"({"hard":{"limits.cpu":"4"},"scopes":["BestEffort"]})"}};
  const auto limits = limits_of(quotas);
  REQUIRE(limits.size() == 1);
  CHECK(resources_json(limits[0].hard) ==
        R"({"hugepages-2Mi":"1Gi","pods":"10","requests.nvidia.com/gpu":"2","secrets":"3"})");
  CHECK(trouble_of(quotas[0]).empty());
  CHECK(trouble_of(quotas[1]) ==
        "\"count/jobs.batch\" is a number of objects, and 1500m is no integer; "
        "\"cpus\" is nothing that a ResourceQuota counts; "
        "\"services\" is a number of objects, and 500m is no integer");
  CHECK(trouble_of(quotas[2]) == "scope BestEffort has nothing to do with \"limits.cpu\"");
  CHECK_FALSE(trouble_of({"broken", R"({"hard":{"pods":"many"}})"}).empty());
}
