// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>

/// The annotation kubectl.kubernetes.io/last-applied-configuration: the object as `kubectl apply`
/// has sent it, and so with each secret in it that a strategy's `scrub` takes out of the object
/// itself (staging/src/k8s.io/kubectl/pkg/util/apply.go).
namespace zoo::resources {

enum class Scrubbed {
  no,   ///< it has no secret
  yes,  ///< the secret was taken out
  lost, ///< it may have one that cannot be found: the annotation goes
};

/// Opens the annotation, if there is one, and writes back what `scrub` has changed. Any spelling
/// may hide a key (escapes), so every one is opened. Text that is no JSON, or that is nested beyond
/// all measure, is not kept.
void scrub_last_applied(nlohmann::json& annotations,
                        const std::function<Scrubbed(nlohmann::json& applied)>& scrub);

} // namespace zoo::resources
