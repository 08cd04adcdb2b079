// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/usage.hpp"

#include "common/api/tenant.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/resources/request.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace zoo::clusters {
namespace {

using nlohmann::json;
using Asks = UsageRequest::What;

constexpr const char* k_group_version = "metrics.k8s.io/v1beta1";

std::string bounded_labels(const json& labels) {
  auto out = kube::text_of(labels);
  return labels.is_object() && out.size() <= k_most_label_bytes ? out : "{}";
}

std::optional<PodUsage> read_pod_usage(std::string_view id, const json& item,
                                       const FindPlace& place) {
  auto space = cluster_namespace(id, kube::text_at(item, "/metadata/namespace"));
  if (!space) return std::nullopt;
  PodUsage out;
  out.name_space = *std::move(space);
  out.name = kube::text_at(item, "/metadata/name");
  out.timestamp = kube::text_at(item, "/timestamp");
  out.window = kube::text_at(item, "/window");
  if (out.timestamp.empty() || out.window.empty()) return std::nullopt;
  auto at = place(out.name_space + "/" + out.name);
  if (!at) return std::nullopt;
  out.node = std::move(at->node);
  out.labels = bounded_labels(sync::plain_texts(item, "/metadata/labels"));
  auto containers = json::array();
  for (const auto& each : kube::list_at(item, "/containers")) {
    const auto name = kube::text_at(each, "/name");
    if (std::ranges::find(at->containers, name) == at->containers.end()) continue;
    const auto cpu = kube::Quantity::parse(kube::text_at(each, "/usage/cpu"));
    const auto memory = kube::Quantity::parse(kube::text_at(each, "/usage/memory"));
    if (!cpu || !memory) continue;
    out.cpu += *cpu;
    out.memory += *memory;
    containers.push_back(
        {{"name", name}, {"usage", {{"cpu", cpu->text()}, {"memory", memory->text()}}}});
  }
  out.containers = kube::text_of(containers);
  return out;
}

bool fulfils_labels(const UsageRequest& request, const PodUsage& pod) {
  if (request.labels.empty()) return true;
  const auto labels = kube::texts_at(json::parse(pod.labels, nullptr, false), "");
  return std::ranges::all_of(request.labels, [&](const translate::LabelRequirement& each) {
    const auto found = labels.find(each.key);
    return translate::fulfils(each, found == labels.end()
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

std::string json_text(std::string_view text) { return kube::text_of(json(text)); }

/// `more`: further members of the object, each with a comma in front.
std::string metrics(std::string_view kind, const std::string& metadata, std::string_view timestamp,
                    std::string_view window, const std::string& more) {
  return fmt::format(
      R"({{"kind":"{}","apiVersion":"{}","metadata":{{{},"creationTimestamp":{}}},"timestamp":{},"window":{}{}}})",
      kind, k_group_version, metadata, json_text(timestamp), json_text(timestamp),
      json_text(window), more);
}

std::string pod_metrics(const PodUsage& pod) {
  return metrics("PodMetrics",
                 fmt::format(R"("name":{},"namespace":{},"labels":{})", json_text(pod.name),
                             json_text(pod.name_space), pod.labels),
                 pod.timestamp, pod.window, R"(,"containers":)" + pod.containers);
}

std::string list_of(std::string_view kind, const std::vector<std::string>& items) {
  return fmt::format(R"({{"kind":"{}","apiVersion":"{}","metadata":{{}},"items":[{}]}})", kind,
                     k_group_version, fmt::join(items, ","));
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

std::string node_metrics(const NodeLabels& node, const NodeSums& sums, std::int64_t now) {
  const auto found = sums.find(node.name);
  const auto sum = found == sums.end() ? NodeSum{{}, {}, api::rfc3339(now), "0s"} : found->second;
  return metrics(
      "NodeMetrics", fmt::format(R"("name":{},"labels":{})", json_text(node.name), node.labels),
      sum.timestamp, sum.window,
      fmt::format(R"(,"usage":{{"cpu":"{}","memory":"{}"}})", sum.cpu.text(), sum.memory.text()));
}

std::size_t parts_of(const std::vector<translate::LabelRequirement>& labels) {
  std::size_t out = labels.size();
  for (const auto& each : labels)
    out += each.values.size();
  return out;
}

} // namespace

std::string usage_selector(std::string_view id) {
  return fmt::format("{}={}", sync::k_id_label, id);
}

Result<std::vector<PodUsage>> read_usage(std::string_view id, std::string_view text,
                                         const FindPlace& place) {
  if (kube::is_too_deep(text))
    return fail(Code::unavailable, "what upstream says of the usage of pods is no list");
  std::vector<PodUsage> out;
  // An item is an object on the second level; it is dropped from the tree once it was read.
  constexpr int k_items = 2;
  const auto list = json::parse(
      text,
      [&](int depth, json::parse_event_t event, json& parsed) {
        if (depth != k_items || event != json::parse_event_t::object_end) return true;
        if (auto one = read_pod_usage(id, parsed, place)) out.push_back(*std::move(one));
        return false;
      },
      false);
  if (!list.is_object() || !kube::value_at(list, "/items").is_array())
    return fail(Code::unavailable, "what upstream says of the usage of pods is no list");
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
    out.what = size == 4 ? Asks::nodes : Asks::node;
  } else if (at[3] == "pods" && size == 4) {
    out.what = Asks::pods;
  } else if (at[3] == "namespaces" && (size == 6 || size == 7) && at[5] == "pods") {
    out.what = size == 6 ? Asks::pods : Asks::pod;
    out.name_space = at[4];
  } else {
    return nowhere();
  }
  if (out.what == Asks::pod || out.what == Asks::node) {
    out.name = at.back();
    return out;
  }
  out.label_selector = read.parameter("labelSelector");
  out.field_selector = read.parameter("fieldSelector");
  if (out.of_nodes()) return out;
  ZOO_TRY(out.labels, translate::parse_label_selector(out.label_selector));
  ZOO_TRY(out.fields, translate::parse_field_selector(out.field_selector));
  if (parts_of(out.labels) + out.fields.size() > k_most_selector_parts)
    return fail(Code::bad_request, "a selector of usage has {} requirements and values at most",
                k_most_selector_parts);
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
          {"groupVersion", k_group_version},
          {"resources", json::array({resource("nodes", false, "NodeMetrics"),
                                     resource("pods", true, "PodMetrics")})}};
}

Result<std::string> pods_usage(const UsageRequest& request, const std::vector<PodUsage>& all) {
  std::vector<std::string> out;
  for (const auto& pod : all)
    if (is_asked_for(request, pod)) out.push_back(pod_metrics(pod));
  if (request.what == Asks::pods) return list_of("PodMetricsList", out);
  if (out.empty())
    return fail(Code::not_found, "podmetrics.metrics.k8s.io \"{}/{}\" not found",
                request.name_space, request.name);
  return std::move(out.front());
}

NodeLabels node_labels(const json& node) {
  return {kube::text_at(node, "/metadata/name"),
          bounded_labels(kube::value_at(node, "/metadata/labels"))};
}

std::string nodes_usage(const UsageRequest& request, const std::vector<NodeLabels>& nodes,
                        const std::vector<PodUsage>& all, std::int64_t now) {
  const auto sums = sums_of(all);
  std::vector<std::string> out;
  for (const auto& node : nodes)
    out.push_back(node_metrics(node, sums, now));
  return request.what == Asks::nodes ? list_of("NodeMetricsList", out) : out.front();
}

} // namespace zoo::clusters
