// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/egress.hpp"

#include <cstddef>

namespace zoo::clusters {

/// zood.internal/apis/metrics.k8s.io/v1beta1: what pods and Nodes of the cluster use, as its API
/// server's aggregation layer asks for it (sync/usage_api.hpp). Who may ask is judged there: by the
/// cluster's own RBAC, before it hands the request on.
InsideService usage_inside();

/// Answers to one cluster that are made or sent at the same time, and the bytes that they hold
/// until they are sent; further ones are refused (429).
inline constexpr std::size_t k_most_usage_answers = 64;
inline constexpr std::size_t k_most_usage_bytes = std::size_t{16} << 20; // docs/limits.md

} // namespace zoo::clusters
