// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/egress.hpp"

#include <functional>
#include <string>

namespace zoo::clusters {

/// Where the questions of a cluster's API server go: called with the cluster's ID and a body; what
/// is answered may come on any thread. False: nobody answers, for the cluster is not followed.
using AskAboutService = std::function<bool(const std::string& id, std::string body,
                                           std::function<void(std::string answer)> done)>;

/// zood.internal/services: the body of a POST, of 4 MiB at most, is handed on, and the answer
/// passed back (sync/service_review.hpp).
InsideService services_inside(AskAboutService ask);

} // namespace zoo::clusters
