// SPDX-License-Identifier: Apache-2.0
#include "common/api/virtual_cluster.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using nlohmann::json;

namespace {

std::string refusal(const json& spec) {
  const auto read = api::cluster_spec({{"spec", spec}});
  return read ? "taken" : read.error().message();
}

} // namespace

TEST_CASE("the proposal's object is taken as it is written") {
  const auto spec = api::cluster_spec(
      {{"spec",
        {{"kubeconfig", "XXXXXX"},
         {"promoteResources",
          {{"nodes", {"node1", "node2"}}, {"resources", {{"cpu", 10}, {"memory", "100Gi"}}}}}}}});
  REQUIRE(spec);
  CHECK(spec->nodes == std::vector<std::string>{"node1", "node2"});
  CHECK(spec->resources.at("cpu").text() == "10");
  CHECK(spec->resources.at("memory").text() == "100Gi");
  CHECK(spec->unused.empty());
}

TEST_CASE("Kosmos' later form of nodes, other resources, and fields without a meaning") {
  const auto spec =
      api::cluster_spec({{"spec",
                          {{"promoteResources",
                            {{"nodes", {"node1"}},
                             {"nodeInfos", {{{"nodeName", "node1"}}, {{"nodeName", "node2"}}}},
                             {"resources", {{"nvidia.com/gpu", 2}}}}},
                           {"externalIP", "192.0.2.1"},
                           {"externalIps", {"192.0.2.2"}},
                           {"extraSANs", {"*.example.com"}},
                           {"version", "v1.36.3"},
                           {"sleep", {{"after", "30m"}}},
                           {"pluginSet", json::object()}}}});
  REQUIRE(spec);
  CHECK(spec->nodes == std::vector<std::string>{"node1", "node2"});
  CHECK(spec->resources.at("nvidia.com/gpu").text() == "2");
  CHECK(spec->extra_sans == std::vector<std::string>{"192.0.2.1", "192.0.2.2", "*.example.com"});
  CHECK(spec->version == "1.36.3");
  CHECK(spec->sleep_after == std::chrono::minutes(30));
  CHECK(spec->unused == std::vector<std::string>{"spec.pluginSet"});
}

TEST_CASE("how a cluster has what it has of the upstream") {
  const auto usual = api::cluster_spec({{"spec", json::object()}});
  REQUIRE(usual);
  CHECK(usual->dns);
  CHECK(usual->virtual_nodes == 1);
  CHECK(usual->weight == 100);
  CHECK_FALSE(usual->exclusive);
  const auto spec = api::cluster_spec({{"spec",
                                        {{"promoteResources", {{"nodes", {"a"}}}},
                                         {"exclusive", true},
                                         {"weight", 250},
                                         {"dns", "none"}}}});
  REQUIRE(spec);
  CHECK(spec->exclusive);
  CHECK(spec->weight == 250);
  CHECK_FALSE(spec->dns);
}

TEST_CASE("what a cluster may have of what all share") {
  const auto usual = api::cluster_spec({{"spec", {{"limits", json::object()}}}});
  REQUIRE(usual);
  CHECK_FALSE(usual->services);
  CHECK_FALSE(usual->node_ports);
  const auto spec =
      api::cluster_spec({{"spec", {{"limits", {{"services", 20}, {"nodePorts", 0}}}}}});
  REQUIRE(spec);
  CHECK(spec->services == 20U);
  CHECK(spec->node_ports == 0U);
  CHECK_FALSE(usual->disruption_budgets);
  const auto budgets = api::cluster_spec({{"spec", {{"sync", {{"podDisruptionBudgets", true}}}}}});
  REQUIRE(budgets);
  CHECK(budgets->disruption_budgets);
  CHECK(refusal({{"sync", {{"podDisruptionBudgets", 1}}}}) ==
        "spec.sync.podDisruptionBudgets must be true or false");
  CHECK(refusal({{"limits", 7}}) == "spec.limits must be an object");
  CHECK(refusal({{"limits", {{"services", -1}}}}) ==
        "spec.limits.services must be a number of 0 to 10000");
  CHECK(refusal({{"limits", {{"nodePorts", "all"}}}}) ==
        "spec.limits.nodePorts must be a number of 0 to 10000");
}

TEST_CASE("what makes no sense is refused, the field first") {
  CHECK(refusal(json::object()) == "taken");
  CHECK(refusal({{"promoteResources", {{"nodes", "node1"}}}}) ==
        "spec.promoteResources.nodes must be a list of names");
  CHECK(refusal({{"promoteResources", {{"nodes", {"a/b"}}}}}) ==
        "spec.promoteResources.nodes 'a/b' is no name of a node");
  CHECK(refusal({{"promoteResources", {{"resources", {{"cpu", "much"}}}}}}) ==
        "spec.promoteResources.resources.cpu must be a quantity such as 10, 500m or 100Gi, not "
        "'much'");
  CHECK(refusal({{"promoteResources", {{"resources", {{"cpu", -1}}}}}}) ==
        "spec.promoteResources.resources.cpu must be a quantity such as 10, 500m or 100Gi, not "
        "'-1'");
  CHECK(refusal({{"version", "latest"}}) ==
        "spec.version must be one such as 1.36.3, not 'latest'");
  CHECK(refusal({{"placement", "pods"}}) ==
        "spec.placement must be local: the control plane runs beside zood, not 'pods'");
  CHECK(refusal({{"paused", "yes"}}) == "spec.paused must be true or false");
  CHECK(refusal({{"sleep", {{"after", "1ms"}}}}) ==
        "spec.sleep.after must be a duration of a second or more, such as 30m, not '1ms'");
  CHECK(refusal({{"extraSANs", {"a b"}}}) ==
        "spec.extraSANs 'a b' is neither a DNS name nor an IP address");
  CHECK(refusal({{"kubeconfig", 1}}) == "spec.kubeconfig must be a string");
  CHECK(refusal({{"dns", "bind"}}) == "spec.dns must be coredns or none, not 'bind'");
  CHECK(refusal({{"weight", 0}}) == "spec.weight must be a number of 1 to 10000");
  CHECK(refusal({{"weight", "9"}}) == "spec.weight must be a number of 1 to 10000");
  CHECK(refusal({{"virtualNodes", 101}}) == "spec.virtualNodes must be a number of 1 to 100");
  CHECK(refusal({{"virtualNodes", 2}, {"promoteResources", {{"nodes", {"a"}}}}})
            .starts_with("spec.virtualNodes divides a share"));
  CHECK(refusal({{"exclusive", true}}).starts_with("spec.exclusive needs"));
  CHECK(refusal({{"exclusive", 1}}) == "spec.exclusive must be true or false");
}
