// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/pod_usage.hpp"
#include "daemon/quota/usage.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::quota;

namespace {

const auto k_now = std::chrono::system_clock::from_time_t(1'800'000'000); // 2027-01-15T08:00:00Z

/// "limits.cpu=1 pods=1", in the order of the names.
std::string text_of(const ResourceList& list) {
  std::string out;
  for (const auto& [name, amount] : list)
    out += (out.empty() ? "" : " ") + name + '=' + amount.text();
  return out;
}

std::string usage(const Counted& kind, const std::string& object) {
  const auto tree = translate::JsonTree::parse(object);
  REQUIRE(tree);
  const auto out = usage_of(kind, tree->root(), k_now);
  return out ? text_of(*out) : out.error().text();
}

std::string pod(const std::string& spec, const std::string& status = "{}") {
  const auto text = R"({"spec":)" + spec + R"(,"status":)" + status + "}";
  const auto tree = translate::JsonTree::parse(text);
  REQUIRE(tree);
  const auto requests = pod_requests(tree->root()), limits = pod_limits(tree->root());
  REQUIRE(requests);
  REQUIRE(limits);
  return text_of(*requests) + " | " + text_of(*limits);
}

std::string container(const std::string& name, const std::string& cpu,
                      const std::string& more = "") {
  return R"({"name":")" + name + R"(","resources":{"requests":{"cpu":")" + cpu + R"("}})" + more +
         "}";
}

constexpr Counted k_pods{"", "pods"}, k_services{"", "services"},
    k_claims{"", "persistentvolumeclaims"}, k_devices{"resource.k8s.io", "resourceclaims"};

} // namespace

TEST_CASE("each object is counted by its kind") {
  CHECK(usage({"apps", "deployments"}, "{}") == "count/deployments.apps=1");
  CHECK(usage({"", "configmaps"}, "{}") == "configmaps=1 count/configmaps=1");
  CHECK(usage({"", "serviceaccounts"}, "{}") == "count/serviceaccounts=1");
  CHECK(usage({"foofoo-example.com", "things"}, "{}") == "count/things.foofoo-example.com=1");
  CHECK(charges({"apps", "deployments"}, "count/deployments.apps"));
  CHECK(!charges({"apps", "deployments"}, "count/deployments"));
  CHECK(!charges({"apps", "deployments"}, "pods"));
  CHECK(charges({"", "secrets"}, "secrets"));
  CHECK(!charges({"", "serviceaccounts"}, "serviceaccounts"));
}

TEST_CASE("a pod is charged by what its containers ask for together") {
  CHECK(usage(k_pods, R"({"spec":{"containers":[{"name":"a"}]}})") == "count/pods=1 pods=1");
  CHECK(usage(k_pods, R"({"spec":{"containers":[
    {"name":"a","resources":{"requests":{"cpu":"100m","memory":"1Gi","example.com/gpu":2,"hugepages-2Mi":"4Mi"},
     "limits":{"cpu":"200m","ephemeral-storage":"1G","example.com/gpu":2}}},
    {"name":"b","resources":{"requests":{"cpu":"900m","ephemeral-storage":"1k"}}}]}})") ==
        "count/pods=1 cpu=1 ephemeral-storage=1k hugepages-2Mi=4Mi limits.cpu=200m "
        "limits.ephemeral-storage=1G memory=1Gi pods=1 requests.cpu=1 "
        "requests.ephemeral-storage=1k requests.example.com/gpu=2 requests.hugepages-2Mi=4Mi "
        "requests.memory=1Gi");
}

TEST_CASE("init containers, sidecars, overhead and resources of the pod itself") {
  CHECK(pod("{\"containers\":[" + container("a", "1") + "],\"initContainers\":[" +
            container("i", "3") + "]}") == "cpu=3 | ");
  // KEP-753: a sidecar stays beside the containers and beside the init containers after it.
  CHECK(pod("{\"containers\":[" + container("a", "1") + "],\"initContainers\":[" +
            container("s", "2", R"(,"restartPolicy":"Always")") + "," + container("i", "3") +
            "]}") == "cpu=5 | ");
  CHECK(pod("{\"containers\":[" + container("a", "1") + "],\"initContainers\":[" +
            container("i", "3") + "," + container("s", "2", R"(,"restartPolicy":"Always")") +
            "]}") == "cpu=3 | ");
  // Overhead adds to a limit only where there is one.
  CHECK(
      pod(R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}],
                "overhead":{"cpu":"100m","memory":"1Mi"}})") == "cpu=1100m memory=1Mi | cpu=2100m");
  // KEP-2837: what the pod says itself goes before the sum.
  CHECK(pod("{\"containers\":[" + container("a", "1") +
            R"(],"resources":{"requests":{"cpu":"5"},"limits":{"memory":"1Gi"}}})") ==
        "cpu=5 | memory=1Gi");
}

TEST_CASE("a pod that is being resized is charged for the larger size") {
  const std::string spec = "{\"containers\":[" + container("a", "1") + "]}";
  const std::string larger =
      R"("containerStatuses":[{"name":"a","allocatedResources":{"cpu":"2"},
         "resources":{"requests":{"cpu":"3"},"limits":{"cpu":"4"}}}])";
  CHECK(pod(spec, "{" + larger + "}") == "cpu=3 | cpu=4");
  const std::string smaller =
      R"("containerStatuses":[{"name":"a","resources":{"requests":{"cpu":"500m"}}}])";
  CHECK(pod(spec, "{" + smaller + "}") == "cpu=1 | ");
  // A size that never comes is not charged.
  CHECK(pod(spec, "{" + smaller +
                      R"(,"conditions":[{"type":"PodResizePending","reason":"Infeasible"}]})") ==
        "cpu=500m | ");
}

TEST_CASE("pods that have ended cost no more than being stored") {
  const auto with = [](std::string_view more) {
    return usage(k_pods, R"({"spec":{"containers":[]},)" + std::string(more) + "}");
  };
  CHECK(with(R"("status":{"phase":"Succeeded"})") == "count/pods=1");
  CHECK(with(R"("status":{"phase":"Failed"})") == "count/pods=1");
  CHECK(with(R"("status":{"phase":"Running"})") == "count/pods=1 pods=1");
  CHECK(
      with(
          R"("metadata":{"deletionTimestamp":"2027-01-15T07:59:00Z","deletionGracePeriodSeconds":30})") ==
      "count/pods=1");
  CHECK(
      with(
          R"("metadata":{"deletionTimestamp":"2027-01-15T07:59:45Z","deletionGracePeriodSeconds":30})") ==
      "count/pods=1 pods=1");
}

TEST_CASE("services are charged for node ports and load balancers") {
  const auto of = [](std::string_view spec) {
    return usage(k_services, R"({"spec":)" + std::string(spec) + "}");
  };
  const std::string rest = "count/services=1 services=1 services.loadbalancers=";
  CHECK(of(R"({"ports":[{},{}]})") == rest + "0 services.nodeports=0");
  CHECK(of(R"({"type":"NodePort","ports":[{},{}]})") == rest + "0 services.nodeports=2");
  CHECK(of(R"({"type":"LoadBalancer","ports":[{}]})") == rest + "1 services.nodeports=1");
  CHECK(of(R"({"type":"LoadBalancer","allocateLoadBalancerNodePorts":false,
               "ports":[{"nodePort":30000},{}]})") == rest + "1 services.nodeports=1");
}

TEST_CASE("claims are charged by their class, in whole bytes") {
  CHECK(
      usage(k_claims,
            R"({"spec":{"storageClassName":"gold","resources":{"requests":{"storage":"1.5"}}}})") ==
      "count/persistentvolumeclaims=1 gold.storageclass.storage.k8s.io/persistentvolumeclaims=1 "
      "gold.storageclass.storage.k8s.io/requests.storage=2 persistentvolumeclaims=1 "
      "requests.storage=2");
  CHECK(
      usage(k_claims, R"({"spec":{"storageClassName":"","resources":{"requests":{"storage":"1Gi"}}},
                            "status":{"allocatedResources":{"storage":"2Gi"}}})") ==
      "count/persistentvolumeclaims=1 persistentvolumeclaims=1 requests.storage=2Gi");
  CHECK(charges(k_claims, "gold.storageclass.storage.k8s.io/requests.storage"));
  CHECK(!charges(k_claims, "gold.storageclass.storage.k8s.io/limits.storage"));
}

TEST_CASE("devices are charged by their class") {
  const auto out = usage(k_devices, R"({"spec":{"devices":{"requests":[
      {"exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":2}},
      {"firstAvailable":[{"deviceClassName":"gpu","allocationMode":"ExactCount","count":3},
                         {"deviceClassName":"gpu","allocationMode":"ExactCount","count":1},
                         {"deviceClassName":"nic","allocationMode":"All"}]}]}}})");
  CHECK(out.starts_with("count/resourceclaims.resource.k8s.io=1 "
                        "gpu.deviceclass.resource.k8s.io/devices=5 "
                        "nic.deviceclass.resource.k8s.io/devices=32"));
}

TEST_CASE("an amount that is none is told with its name") {
  CHECK(usage(k_pods, R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"much"}}}]}})") ==
        R"("much" is no quantity: it has no digits ("cpu"))");
}

TEST_CASE("lists are added and compared name by name") {
  ResourceList a{{"cpu", *kube::Quantity::parse("1")}, {"pods", kube::Quantity::of(2)}};
  const ResourceList b{{"cpu", *kube::Quantity::parse("500m")}, {"secrets", kube::Quantity::of(1)}};
  CHECK(text_of(beyond(a, b)) == "cpu=500m pods=2");
  CHECK(text_of(only(a, b)) == "cpu=1");
  add(a, b);
  CHECK(text_of(a) == "cpu=1500m pods=2 secrets=1");
}
