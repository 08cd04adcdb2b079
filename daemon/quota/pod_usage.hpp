// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/usage.hpp"

#include <optional>

/// What a pod asks for, and which kinds of pods there are for a quota. Pure: any thread.
namespace zoo::quota {

/// `requests` of the whole pod: containers, init containers, sidecars, what a resize has left
/// behind, the pod's own resources and its overhead
/// (k8s.io/component-helpers resource/helpers.go, PodRequests).
Result<ResourceList> pod_requests(translate::JsonNode pod);
/// `limits` of the whole pod (PodLimits, there).
Result<ResourceList> pod_limits(translate::JsonNode pod);

/// Is it charged for more than its being stored?
bool pod_is_charged(translate::JsonNode pod, std::chrono::system_clock::time_point now);

/// When what it is charged for ends though nothing more is heard of it: the end of the time that
/// it was given to end in. Nothing: it is not being deleted.
std::optional<std::chrono::system_clock::time_point> pod_charge_ends(translate::JsonNode pod);

/// Has it a deadline? (scope Terminating)
bool pod_terminates(translate::JsonNode pod);
/// Has it neither requests nor limits of CPU and memory? (scope BestEffort)
bool pod_is_best_effort(translate::JsonNode pod);
/// Does its affinity look into other namespaces? (scope CrossNamespacePodAffinity)
bool pod_looks_across_namespaces(translate::JsonNode pod);

} // namespace zoo::quota
