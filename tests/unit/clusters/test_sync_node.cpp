// SPDX-License-Identifier: Apache-2.0
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/node_dress.hpp"

#include <doctest/doctest.h>

using namespace zoo;
using namespace zoo::clusters::sync;
using nlohmann::json;

namespace {

kube::Quantity n(const char* text) {
  return kube::Quantity::parse(text).value_or(kube::Quantity());
}

json host() {
  return json::parse(R"({"metadata":{"name":"n1","uid":"u","labels":{"zone":"a","kubeadm.x/y":"1"},
      "annotations":{"k3s.io/node-args":"[\"--server\",\"https://10.0.0.1:6443\"]","note":"1"}},
    "spec":{"providerID":"kwok://n1","podCIDR":"10.1.0.0/24","unschedulable":true,
      "taints":[{"key":"gpu","effect":"NoSchedule"},{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]},
    "status":{"capacity":{"cpu":"8","memory":"16Gi","pods":"110"},"allocatable":{"cpu":"8","memory":"16Gi","pods":"110"},
      "addresses":[{"type":"Hostname","address":"n1"},{"type":"InternalIP","address":"10.0.0.9"}],
      "conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}],"nodeInfo":{"kubeletVersion":"v1.36.3","swap":{"capacity":1}},
      "declaredFeatures":["x"],"images":[{}]}})");
}

} // namespace

TEST_CASE("a named node is as its host, without what is the host's own") {
  const auto node = named_node(host(), {{"cpu", n("3")}});
  CHECK(node["metadata"]["labels"].dump() == R"({"virtual-cluster/node":"named","zone":"a"})");
  CHECK(
      node["metadata"]["annotations"].dump() ==
      R"j({"virtual-cluster/from-host":"{\"labels\":[\"zone\"],\"taints\":[{\"effect\":\"NoSchedule\",\"key\":\"gpu\"}],\"unschedulable\":true}"})j");
  CHECK(node["spec"].dump() ==
        R"({"taints":[{"effect":"NoSchedule","key":"gpu"}],"unschedulable":true})");
  const auto& status = node["status"];
  CHECK(status["allocatable"] == json{{"cpu", "3"}});
  CHECK(status["capacity"]["cpu"] == "8");
  CHECK(status["addresses"].size() == 2);
  CHECK(status["addresses"][0]["address"] == "n1");
  // Nothing that an older API server would not keep: what it lacks would be written for ever.
  CHECK(status["nodeInfo"] == json{{"kubeletVersion", "v1.36.3"}});
  CHECK_FALSE(status.contains("declaredFeatures"));
  CHECK_FALSE(status.contains("images"));
}

TEST_CASE("pods may have what others leave of a host, and no more than is left of a share") {
  const Capacity others = {{"cpu", n("3")}, {"memory", n("20Gi")}};
  auto room = room_on(host(), others, {}, {});
  CHECK(room["cpu"] == n("5"));
  CHECK(room["memory"].zero());
  CHECK(room["pods"] == n("110"));
  room = room_on(host(), {}, {{"cpu", n("1")}}, {{"cpu", n("500m")}});
  CHECK(room["cpu"] == n("1500m"));
  room = room_on(host(), {}, {}, {{"cpu", n("-1")}});
  CHECK(room["cpu"].zero());
}

TEST_CASE("a share is a node of its capacity") {
  const auto node =
      share_node("t1", share_capacity({{"cpu", n("10")}, {"nvidia.com/gpu", n("2")}}), "1.36.3");
  CHECK(node["status"]["capacity"].dump() == R"({"cpu":"10","nvidia.com/gpu":"2","pods":"500"})");
  CHECK(node["status"]["allocatable"] == node["status"]["capacity"]);
  CHECK(node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.3");
  CHECK(share_capacity({{"pods", n("7")}})["pods"] == n("7"));
}

TEST_CASE("a share is divided evenly, and the first node has the rest") {
  CHECK(share_nodes("t1", 1) == std::vector<std::string>{"t1"});
  CHECK(share_nodes("t1", 3) == std::vector<std::string>{"t1-0", "t1-1", "t1-2"});
  const Capacity all = {{"cpu", n("10")}, {"memory", n("10")}, {"nvidia.com/gpu", n("2")}};
  auto part = share_part(all, 3, 0);
  CHECK(part["cpu"] == n("3334m"));
  CHECK(part["memory"] == n("4"));
  CHECK(part["nvidia.com/gpu"] == n("2"));
  part = share_part(all, 3, 2);
  CHECK(part["cpu"] == n("3333m"));
  CHECK(part["memory"] == n("3"));
  CHECK(part["nvidia.com/gpu"].zero());
  CHECK(share_part(all, 1, 0) == all);
}

TEST_CASE("labels that a host has lost are lost in the cluster, and no others") {
  auto current = named_node(host(), {});
  current["metadata"]["labels"]["own"] = "1";
  auto changed = host();
  changed["metadata"]["labels"].erase("zone");
  // A version before has taken annotations of hosts, too.
  current["metadata"]["annotations"] = {
      {"note", "1"},
      {"mine", "2"},
      {"virtual-cluster/from-host", R"({"annotations":["note"],"labels":["zone"]})"}};
  const auto kept = kept_node(current, named_node(changed, {}));
  CHECK(kept["metadata"]["labels"].dump() == R"({"own":"1","virtual-cluster/node":"named"})");
  CHECK_FALSE(kept["metadata"]["annotations"].contains("note"));
  CHECK(kept["metadata"]["annotations"]["mine"] == "2");
  CHECK(kept_node(kept, named_node(changed, {})) == kept);
}

TEST_CASE("taints and a cordon of the cluster's own users stay, and those of the host go with it") {
  auto free = host();
  free["spec"] = json::object();
  const auto cordoned = named_node(host(), {}), plain = named_node(free, {});
  auto current = kept_node(json{{"metadata", json::object()}}, cordoned);
  current["spec"]["taints"].push_back({{"key", "mine"}, {"effect", "NoExecute"}});
  CHECK(kept_node(current, cordoned) == current);
  // The host's are not its own any more.
  auto next = kept_node(current, plain);
  CHECK(next["spec"].dump() == R"({"taints":[{"effect":"NoExecute","key":"mine"}]})");
  next["spec"]["unschedulable"] = true; // kubectl cordon, in the cluster
  CHECK(kept_node(next, plain) == next);
  next["spec"].erase("taints"); // kubectl taint node n mine-
  CHECK(kept_node(next, plain) == next);

  // Of a node that left the cluster, and is its again.
  next["metadata"]["annotations"][k_leaving_annotation] = "2026-11-28T00:00:00Z";
  next = kept_node(next, plain);
  CHECK_FALSE(next["metadata"]["annotations"].contains(k_leaving_annotation));
  CHECK_FALSE(next.contains("/spec/unschedulable"_json_pointer));

  // A version before did not say what of them was the host's.
  auto old = current;
  old["metadata"]["annotations"]["virtual-cluster/from-host"] = R"({"annotations":[],"labels":[]})";
  CHECK_FALSE(kept_node(old, plain).contains("/spec/taints/0"_json_pointer));

  // A node of a share has no host.
  const auto share = share_node("s", {}, "1.36.3");
  auto own = kept_node(json{{"metadata", json::object()}}, share);
  own["spec"] = {{"unschedulable", true},
                 {"taints", {{{"key", "mine"}, {"effect", "NoSchedule"}}}}};
  CHECK(kept_node(own, share) == own);
}

TEST_CASE("a node is written where it differs alone, and what others put there stays") {
  const auto wanted = named_node(host(), {{"cpu", n("3")}});
  auto current = wanted;
  current["metadata"]["labels"]["own"] = "1";
  current["spec"]["taints"] = json::parse(
      R"([{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"},{"effect":"NoSchedule","key":"gpu"}])");
  CHECK(kept_node(current, wanted) == current);
  CHECK(status_change(current, wanted).is_null());

  auto changed = host();
  changed["spec"].erase("unschedulable");
  changed["spec"]["taints"] = json::array();
  changed["status"]["conditions"][0]["status"] = "False";
  const auto next = named_node(changed, {{"memory", n("1Gi")}});
  const auto kept = kept_node(current, next);
  CHECK(kept["metadata"]["labels"]["own"] == "1");
  CHECK_FALSE(kept["spec"].contains("unschedulable"));
  CHECK(kept["spec"]["taints"].size() == 1);
  CHECK(kept["spec"]["taints"][0]["key"] == "node.kubernetes.io/unschedulable");
  const auto change = status_change(current, next);
  CHECK(change["status"]["allocatable"] == json{{"cpu", nullptr}, {"memory", "1Gi"}});
  CHECK(change["status"]["conditions"][0]["status"] == "False");
  CHECK(change["status"]["conditions"][0].contains("lastTransitionTime"));
}

TEST_CASE("a node whose host is gone is not ready") {
  const auto change = status_change(named_node(host(), {}), lost_node("n1"));
  CHECK(change["status"]["conditions"][0]["reason"] == "HostNodeGone");
  CHECK(change["status"]["conditions"][0]["status"] == "False");
}
