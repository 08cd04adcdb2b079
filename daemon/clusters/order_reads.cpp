// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/order_reads.hpp"

#include "common/kube/json_reads.hpp"
#include "daemon/clusters/kind.hpp"
#include "daemon/clusters/record.hpp"
#include "daemon/tenants/footprint.hpp"

namespace zoo::clusters {

using nlohmann::json;

namespace {

constexpr int k_levels_of_metadata = 8;

/// A page of orders without their managedFields: these nest as deep as the objects that somebody
/// wrote, and one that is too deep would make the whole page unreadable.
Result<json> page_of(upstream::ControlApi& api, const std::string& path) {
  ZOO_TRY(const auto answer, api.request("GET", path, {}, {}, tenants::k_metadata_list));
  if (answer.status < 200 || answer.status > 299) return fail(kube::error_of(answer));
  auto out = json::parse(
      answer.body,
      [](int depth, json::parse_event_t event, const json& read) {
        return depth <= k_levels_of_metadata &&
               !(event == json::parse_event_t::key && read == "managedFields");
      },
      false);
  if (!out.is_object())
    return fail(Code::unavailable, "the upstream's list of VirtualClusters is no JSON object");
  return out;
}

} // namespace

Result<void> each_order(upstream::ControlApi& api,
                        const std::function<void(const std::string& key)>& tell) {
  auto page = k_orders_page;
  std::string next;
  for (;;) {
    kube::Query query{{"limit", std::to_string(page)}};
    if (!next.empty()) query.emplace_back("continue", next);
    const auto list = page_of(api, kube::with_query(k_orders_path, query));
    if (!list && list.error().code() == Code::too_large && page > 1) {
      page /= 2;
      continue;
    }
    if (!list) return fail(list.error());
    for (const auto& each : kube::list_at(*list, "/items"))
      tell(key_of(kube::text_at(each, "/metadata/namespace"),
                  kube::text_at(each, "/metadata/name")));
    next = kube::text_at(*list, "/metadata/continue");
    if (next.empty()) return {};
  }
}

json wanted_of(const json& order) {
  json out = {{"metadata",
               {{"name", kube::text_at(order, "/metadata/name")},
                {"namespace", kube::text_at(order, "/metadata/namespace")}}},
              {"spec", order.value("spec", json::object())}};
  if (out["spec"].is_null()) out["spec"] = json::object();
  if (const auto labels = kube::value_at(order, "/metadata/labels");
      labels.is_object() && kube::text_of(labels).size() <= k_most_order_labels)
    out["metadata"]["labels"] = labels;
  scrub_kubeconfig(out);
  return out;
}

Result<api::ClusterSpec> order_spec(const json& wanted) {
  if (const auto bytes = kube::text_of(wanted["spec"]).size(); bytes > k_most_order_spec)
    return fail(Code::invalid,
                "spec has {} bytes, and zood keeps {} of an order at most: take out what has no "
                "meaning for it",
                bytes, k_most_order_spec);
  return api::cluster_spec(wanted);
}

} // namespace zoo::clusters
