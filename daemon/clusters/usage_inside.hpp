// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/egress.hpp"
#include "daemon/clusters/usage.hpp"

#include <functional>
#include <string>

namespace zoo::clusters {

/// Who answers questions about usage: called with the cluster's ID; what is answered, JSON text,
/// may come on any thread. False: nobody answers, for the cluster is not followed, or too much of
/// it waits.
using AskAboutUsage = std::function<bool(const std::string& id, UsageRequest request,
                                         std::function<void(Result<std::string> answer)> done)>;

/// zood.internal/apis/metrics.k8s.io/v1beta1: what pods and Nodes of the cluster use, as its API
/// server's aggregation layer asks for it (sync/usage_api.hpp). Who may ask is judged there: by the
/// cluster's own RBAC, before it hands the request on.
InsideService usage_inside(AskAboutUsage ask);

} // namespace zoo::clusters
