// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/quantity.hpp"
#include "daemon/clusters/pod_place.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/selector.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What pods of a virtual cluster use of cpu and memory, as the upstream's metrics API says it and
/// the cluster's own shows it: API group metrics.k8s.io/v1beta1 (k8s.io/metrics
/// pkg/apis/metrics/v1beta1). Pure.
namespace zoo::clusters {

/// The path of the API, upstream and in the cluster.
inline constexpr std::string_view k_usage_api = "/apis/metrics.k8s.io/v1beta1";

/// Labels of a pod, or a Node, that are longer as JSON are not shown, and no selector finds them.
inline constexpr std::size_t k_most_label_bytes = 16 * 1024; // docs/limits.md
/// Requirements of a selector, and values in them; more are refused (400).
inline constexpr std::size_t k_most_selector_parts = 256;

/// What one pod uses.
struct PodUsage {
  std::string name_space, name;  ///< in the cluster's names
  std::string node;              ///< of the cluster
  std::string labels;            ///< a JSON object
  std::string timestamp, window; ///< as upstream writes them; never empty
  std::string containers;        ///< a JSON list of ContainerMetrics
  kube::Quantity cpu, memory;    ///< of all containers together
};

/// The selector by which upstream is asked for all pods of the cluster.
std::string usage_selector(std::string_view id);
/// Of a PodMetricsList of the upstream what pods of the cluster use. What is not the cluster's is
/// left out; so is a pod without a time, and a container whose amounts are no quantities, which no
/// client could read. One item after the other is looked at, so that no tree of the whole text is
/// made. Code::unavailable: it is no list.
Result<std::vector<PodUsage>> read_usage(std::string_view id, std::string_view text,
                                         const FindPlace& place);

/// A request below k_usage_api. A value.
struct UsageRequest {
  enum class What : std::uint8_t { resources, pods, pod, nodes, node };
  What what = What::resources;
  std::string name_space;                     ///< of pods; "": of all namespaces
  std::string name;                           ///< of one pod or Node
  std::string label_selector, field_selector; ///< of Nodes, which the cluster's API server selects
  std::vector<translate::LabelRequirement> labels; ///< of pods
  std::vector<translate::FieldTerm> fields; ///< of pods: metadata.name and metadata.namespace

  bool of_nodes() const { return what == What::nodes || what == What::node; }
};
/// Code::not_found for a path that leads nowhere; Code::bad_request for selectors that cannot be
/// understood, or are too long; Code::method_not_allowed for other methods than GET, and for
/// watches.
Result<UsageRequest> parse_usage_request(const http::RequestHead& head);

/// The APIResourceList of the group's version.
nlohmann::json usage_resources();
/// PodMetrics, or a PodMetricsList, as JSON text. Code::not_found: there is no such pod, or nothing
/// was measured of it yet.
Result<std::string> pods_usage(const UsageRequest& request, const std::vector<PodUsage>& all);

/// A Node of the cluster.
struct NodeLabels {
  std::string name;
  std::string labels; ///< a JSON object
};
/// Of the metadata of a Node, as the cluster's API server has it.
NodeLabels node_labels(const nlohmann::json& node);
/// NodeMetrics, or a NodeMetricsList, as JSON text: of each of `nodes` what the cluster's own pods
/// on it use together. `nodes`: those that were asked for; exactly one if the request is about one.
/// `now`: Unix seconds, the time of Nodes without pods.
std::string nodes_usage(const UsageRequest& request, const std::vector<NodeLabels>& nodes,
                        const std::vector<PodUsage>& all, std::int64_t now);

} // namespace zoo::clusters
