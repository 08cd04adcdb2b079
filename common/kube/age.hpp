// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// Ages as Tables show them. Pure, any thread.
namespace zoo::kube {

/// "5m", "3d4h", "2y": k8s.io/apimachinery/pkg/util/duration HumanDuration.
std::string human_duration(std::int64_t seconds);
/// Unix seconds of "2026-01-31T09:00:00Z"; -1 if it is not such a time.
std::int64_t unix_seconds(std::string_view rfc3339);

} // namespace zoo::kube
