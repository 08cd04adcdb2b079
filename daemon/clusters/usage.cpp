// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/usage.hpp"

#include "common/api/tenant.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/resources/request.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using What = UsageRequest::What;

constexpr const char* k_version = "metrics.k8s.io/v1beta1";
/// The marks of zood's own begin so.
constexpr std::string_view k_own_labels = "clusters.zoo.kubezoo.io/";

kube::Quantity amount_at(const json& container, std::string_view pointer) {
  return kube::Quantity::parse(kube::text_at(container, pointer)).value_or(kube::Quantity());
}

std::optional<PodUsage> read_one(std::string_view id, const json& item, const FindPlace& place) {
  auto space = cluster_namespace(id, kube::text_at(item, "/metadata/namespace"));
  if (!space) return std::nullopt;
  PodUsage out;
  out.name_space = *std::move(space);
  out.name = kube::text_at(item, "/metadata/name");
  auto at = place(out.name_space + "/" + out.name);
  if (!at) return std::nullopt;
  out.node = std::move(at->node);
  out.labels = kube::texts_at(item, "/metadata/labels");
  std::erase_if(out.labels, [](const auto& each) { return each.first.starts_with(k_own_labels); });
  out.timestamp = kube::text_at(item, "/timestamp");
  out.window = kube::text_at(item, "/window");
  auto containers = json::array();
  for (const auto& each : kube::list_at(item, "/containers")) {
    const auto name = kube::text_at(each, "/name");
    if (std::ranges::find(at->containers, name) == at->containers.end()) continue;
    out.cpu += amount_at(each, "/usage/cpu");
    out.memory += amount_at(each, "/usage/memory");
    containers.push_back({{"name", name},
                          {"usage",
                           {{"cpu", kube::text_at(each, "/usage/cpu")},
                            {"memory", kube::text_at(each, "/usage/memory")}}}});
  }
  out.containers = kube::text_of(containers);
  return out;
}

bool fulfils_labels(const UsageRequest& request, const PodUsage& pod) {
  return std::ranges::all_of(request.labels, [&](const translate::LabelRequirement& each) {
    const auto found = pod.labels.find(each.key);
    return translate::fulfils(each, found == pod.labels.end()
                                        ? std::nullopt
                                        : std::optional<std::string_view>(found->second));
  });
}

bool is_asked_for(const UsageRequest& request, const PodUsage& pod) {
  if (!request.name_space.empty() && pod.name_space != request.name_space) return false;
  if (!request.name.empty() && pod.name != request.name) return false;
  const bool fields = std::ranges::all_of(request.fields, [&](const translate::FieldTerm& each) {
    const auto& value = each.key == "metadata.name" ? pod.name : pod.name_space;
    return (value == each.value) == each.equal;
  });
  return fields && fulfils_labels(request, pod);
}

/// With `containers` as the text that it is.
std::string pod_metrics(const PodUsage& pod) {
  json object = {{"kind", "PodMetrics"},
                 {"apiVersion", k_version},
                 {"metadata",
                  {{"name", pod.name},
                   {"namespace", pod.name_space},
                   {"creationTimestamp", pod.timestamp},
                   {"labels", pod.labels}}},
                 {"timestamp", pod.timestamp},
                 {"window", pod.window}};
  if (pod.labels.empty()) object["metadata"].erase("labels");
  auto out = kube::text_of(object);
  out.pop_back();
  return out + R"(,"containers":)" + pod.containers + "}";
}

std::string list_of(std::string_view kind, const std::vector<std::string>& items) {
  auto out =
      fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{{}},"items":[)", kind, k_version);
  for (const auto& each : items) {
    if (out.back() != '[') out += ',';
    out += each;
  }
  return out + "]}";
}

/// What pods of one Node use together.
struct NodeSum {
  kube::Quantity cpu, memory;
  std::string timestamp, window; ///< of the pod that was measured last
};
using NodeSums = std::unordered_map<std::string, NodeSum>;

NodeSums sums_of(const std::vector<PodUsage>& all) {
  NodeSums out;
  for (const auto& pod : all) {
    auto& sum = out[pod.node];
    sum.cpu += pod.cpu;
    sum.memory += pod.memory;
    if (pod.timestamp <= sum.timestamp) continue; // RFC 3339 in UTC: in the order of time
    sum.timestamp = pod.timestamp;
    sum.window = pod.window;
  }
  return out;
}

std::string node_metrics(const json& node, const NodeSums& sums, std::int64_t now) {
  const auto name = kube::text_at(node, "/metadata/name");
  const auto found = sums.find(name);
  const auto sum = found == sums.end() ? NodeSum{{}, {}, api::rfc3339(now), "0s"} : found->second;
  json out = {{"kind", "NodeMetrics"},
              {"apiVersion", k_version},
              {"metadata", {{"name", name}, {"creationTimestamp", sum.timestamp}}},
              {"timestamp", sum.timestamp},
              {"window", sum.window},
              {"usage", {{"cpu", sum.cpu.text()}, {"memory", sum.memory.text()}}}};
  if (auto labels = kube::value_at(node, "/metadata/labels"); labels.is_object())
    out["metadata"]["labels"] = std::move(labels);
  return kube::text_of(out);
}

Error nothing_there(std::string_view what) {
  return {Code::not_found, fmt::format("{} not found", what)};
}

} // namespace

std::string usage_selector(std::string_view id) {
  return fmt::format("{}={}", sync::k_id_label, id);
}

Result<std::vector<PodUsage>> read_usage(std::string_view id, std::string_view text,
                                         const FindPlace& place) {
  const auto list = kube::parse_foreign(text);
  if (!list.is_object() || !list.contains("items"))
    return fail(Code::unavailable, "what upstream says of the usage of pods is no list");
  std::vector<PodUsage> out;
  for (const auto& item : kube::list_at(list, "/items"))
    if (auto one = read_one(id, item, place)) out.push_back(*std::move(one));
  return out;
}

Result<UsageRequest> parse_usage_request(const http::RequestHead& head) {
  ZOO_TRY(const auto read, resources::parse_request(head));
  if (head.method != "GET")
    return fail(Code::method_not_allowed, "usage of cpu and memory is only read: GET");
  ZOO_TRY(const auto watches, read.flag("watch"));
  if (watches) return fail(Code::method_not_allowed, "usage of cpu and memory cannot be watched");
  const auto nowhere = [&] {
    return fail(Code::not_found, "{} is not served: only {}/nodes and pods are", read.path(),
                k_usage_api);
  };
  const auto& at = read.segments;
  const auto size = at.size();
  if (size < 3 || at[0] != "apis" || at[1] != "metrics.k8s.io" || at[2] != "v1beta1")
    return nowhere();
  UsageRequest out;
  if (size == 3) return out;
  if (at[3] == "nodes" && size <= 5) {
    out.what = size == 4 ? What::nodes : What::node;
  } else if (at[3] == "pods" && size == 4) {
    out.what = What::pods;
  } else if (at[3] == "namespaces" && (size == 6 || size == 7) && at[5] == "pods") {
    out.what = size == 6 ? What::pods : What::pod;
    out.name_space = at[4];
  } else {
    return nowhere();
  }
  if (out.what == What::pod || out.what == What::node) {
    out.name = at.back();
    return out;
  }
  out.label_selector = read.parameter("labelSelector");
  out.field_selector = read.parameter("fieldSelector");
  if (out.of_nodes()) return out;
  ZOO_TRY(out.labels, translate::parse_label_selector(out.label_selector));
  ZOO_TRY(out.fields, translate::parse_field_selector(out.field_selector));
  for (const auto& each : out.fields)
    if (each.key != "metadata.name" && each.key != "metadata.namespace")
      return fail(Code::bad_request, "field label not supported: {}", each.key);
  return out;
}

json usage_resources() {
  const auto resource = [](const char* name, bool namespaced, const char* kind) {
    return json{{"name", name},
                {"singularName", ""},
                {"namespaced", namespaced},
                {"kind", kind},
                {"verbs", json::array({"get", "list"})}};
  };
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", k_version},
          {"resources", json::array({resource("nodes", false, "NodeMetrics"),
                                     resource("pods", true, "PodMetrics")})}};
}

Result<std::string> pods_usage(const UsageRequest& request, const std::vector<PodUsage>& all) {
  std::vector<std::string> out;
  for (const auto& pod : all)
    if (is_asked_for(request, pod)) out.push_back(pod_metrics(pod));
  if (request.what == What::pods) return list_of("PodMetricsList", out);
  if (out.empty())
    return fail(nothing_there(
        fmt::format("podmetrics.metrics.k8s.io \"{}/{}\"", request.name_space, request.name)));
  return std::move(out.front());
}

std::string nodes_usage(const UsageRequest& request, const json& nodes,
                        const std::vector<PodUsage>& all, std::int64_t now) {
  const auto sums = sums_of(all);
  if (request.what == What::node) return node_metrics(nodes, sums, now);
  std::vector<std::string> out;
  for (const auto& node : kube::list_at(nodes, "/items"))
    out.push_back(node_metrics(node, sums, now));
  return list_of("NodeMetricsList", out);
}

} // namespace zoo::clusters
