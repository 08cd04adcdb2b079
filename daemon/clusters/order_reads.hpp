// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/virtual_cluster.hpp"
#include "common/base/result.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <string>

/// What is read of VirtualCluster objects of the upstream. Who may write them writes there what he
/// likes, and the orders of others go on nevertheless.
namespace zoo::clusters {

inline constexpr const char* k_orders_path = "/apis/kosmos.io/v1alpha1/virtualclusters";

/// Orders a page, of which the metadata alone is read: as large as etcd takes objects, ten are far
/// below the 64 MiB that an answer may have.
inline constexpr std::size_t k_orders_page = 10;
/// How many bytes of JSON a record takes over from an order: of its labels, and of its spec.
inline constexpr std::size_t k_most_order_labels = std::size_t{16} << 10;
inline constexpr std::size_t k_most_order_spec = std::size_t{256} << 10;

/// Tells "<namespace>/<name>" of each order, a page at a time; a page that is too large is asked
/// for in halves. Code::not_found: the upstream does not serve the kind yet. After any error some
/// have been told. Blocking.
Result<void> each_order(upstream::ControlApi& api,
                        const std::function<void(const std::string& key)>& tell);

/// What a record takes over of an order: its spec, and its labels where they are no larger than
/// k_most_order_labels. Pure.
nlohmann::json wanted_of(const nlohmann::json& order);

/// spec of that. Code::invalid as of api::cluster_spec(), and where it is too large to be kept.
/// Pure.
Result<api::ClusterSpec> order_spec(const nlohmann::json& wanted);

} // namespace zoo::clusters
