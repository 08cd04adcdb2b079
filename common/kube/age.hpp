// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// The clock in Unix seconds, and ages as Tables show them. Any thread.
namespace zoo::kube {

std::int64_t unix_now(); ///< the system's clock, in seconds
/// "5m", "3d4h", "2y": k8s.io/apimachinery/pkg/util/duration HumanDuration.
std::string human_duration(std::int64_t seconds);
/// Unix seconds of "2026-01-31T09:00:00Z"; -1 if it is not such a time.
std::int64_t unix_seconds(std::string_view rfc3339);
/// What column Age says at `now` of what was made at `created`; both Unix seconds.
std::string age_at(std::int64_t now, std::int64_t created);

} // namespace zoo::kube
