// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/scopes.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::quota;

namespace {

bool holds(const std::string& spec, const Counted& kind, const std::string& object) {
  const auto quota = translate::JsonTree::parse(spec), one = translate::JsonTree::parse(object);
  REQUIRE(quota);
  REQUIRE(one);
  return in_scope(scopes_of(quota->root()), kind, one->root());
}

constexpr Counted k_pods{"", "pods"}, k_claims{"", "persistentvolumeclaims"};
const std::string k_plain = R"({"spec":{"containers":[{"name":"a"}]}})";
const std::string k_asks =
    R"({"spec":{"containers":[{"name":"a","resources":{"requests":{"cpu":"1m"}}}]}})";

} // namespace

TEST_CASE("a quota without scopes counts everything") {
  CHECK(holds(R"({"hard":{"pods":"1"}})", k_pods, k_plain));
  CHECK(holds("{}", {"apps", "deployments"}, "{}"));
}

TEST_CASE("scopes tell pods apart") {
  const std::string best = R"({"scopes":["BestEffort"]})",
                    not_best = R"({"scopes":["NotBestEffort"]})";
  CHECK(holds(best, k_pods, k_plain));
  CHECK(!holds(best, k_pods, k_asks));
  CHECK(holds(not_best, k_pods, k_asks));
  CHECK(!holds(not_best, k_pods, k_plain));
  CHECK(!holds(best, k_pods, R"({"spec":{"resources":{"limits":{"memory":"1Mi"}}}})"));
  CHECK(holds(best, k_pods, R"({"spec":{"containers":[{"resources":{"requests":{"cpu":0}}}]}})"));
  // What the API server has settled for a stored pod goes before what could be computed.
  CHECK(!holds(best, k_pods, R"({"spec":{},"status":{"qosClass":"Burstable"}})"));

  const std::string ends = R"({"scopes":["Terminating"]})";
  CHECK(holds(ends, k_pods, R"({"spec":{"activeDeadlineSeconds":0}})"));
  CHECK(!holds(ends, k_pods, k_plain));
  CHECK(holds(R"({"scopes":["NotTerminating","NotBestEffort"]})", k_pods, k_asks));
  CHECK(!holds(R"({"scopes":["NotTerminating","NotBestEffort"]})", k_pods, k_plain));

  const std::string across = R"({"scopes":["CrossNamespacePodAffinity"]})";
  CHECK(holds(across, k_pods,
              R"({"spec":{"affinity":{"podAntiAffinity":{
                  "preferredDuringSchedulingIgnoredDuringExecution":[
                    {"podAffinityTerm":{"namespaceSelector":{}}}]}}}})"));
  CHECK(holds(across, k_pods,
              R"({"spec":{"affinity":{"podAffinity":{
                  "requiredDuringSchedulingIgnoredDuringExecution":[{"namespaces":["x"]}]}}}})"));
  CHECK(!holds(across, k_pods,
               R"({"spec":{"affinity":{"podAffinity":{
                   "requiredDuringSchedulingIgnoredDuringExecution":[{"namespaces":[]}]}}}})"));
}

TEST_CASE("a scope selector compares the class") {
  const auto of = [](std::string_view op, std::string_view values) {
    return R"({"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":")" +
           std::string(op) + R"(","values":)" + std::string(values) + "}]}}";
  };
  const std::string high = R"({"spec":{"priorityClassName":"high"}})";
  CHECK(holds(of("In", R"(["low","high"])"), k_pods, high));
  CHECK(!holds(of("In", R"(["low"])"), k_pods, high));
  CHECK(!holds(of("In", R"(["low"])"), k_pods, k_plain));
  CHECK(!holds(of("NotIn", R"(["high"])"), k_pods, high));
  CHECK(holds(of("NotIn", R"(["high"])"), k_pods, k_plain));
  CHECK(holds(of("Exists", "[]"), k_pods, high));
  CHECK(!holds(of("Exists", "[]"), k_pods, k_plain));
  CHECK(holds(of("DoesNotExist", "[]"), k_pods, k_plain));
}

TEST_CASE("a scope that asks for nothing an object has does not hold") {
  CHECK(!holds(R"({"scopes":["BestEffort"]})", {"", "services"}, "{}"));
  CHECK(!holds(R"({"scopes":["BestEffort"]})", k_claims, "{}"));
  CHECK(!holds(R"({"scopes":["Unheard"]})", k_pods, k_plain));
  const std::string fast =
      R"({"scopeSelector":{"matchExpressions":[
          {"scopeName":"VolumeAttributesClass","operator":"In","values":["fast"]}]}})";
  CHECK(holds(fast, k_claims, R"({"spec":{"volumeAttributesClassName":"fast"}})"));
  CHECK(holds(fast, k_claims, R"({"status":{"currentVolumeAttributesClassName":"fast"}})"));
  CHECK(!holds(fast, k_claims, R"({"spec":{"volumeAttributesClassName":"slow"}})"));
}

TEST_CASE("two quotas of the same objects have equal scopes") {
  const auto list = [](const std::string& spec) {
    const auto tree = translate::JsonTree::parse(spec);
    REQUIRE(tree);
    return scopes_of(tree->root());
  };
  CHECK(list(R"({"scopes":["NotBestEffort","Terminating","Terminating"]})") ==
        list(R"({"scopes":["Terminating","NotBestEffort"]})"));
  CHECK(
      list(R"({"scopes":["BestEffort"]})") ==
      list(
          R"({"scopeSelector":{"matchExpressions":[{"scopeName":"BestEffort","operator":"Exists"}]}})"));
}
