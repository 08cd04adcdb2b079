// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/quota/limits.hpp"

#include <nlohmann/json.hpp>

namespace zoo::accounts {

/// Amounts as Kubernetes writes them: {"pods": "3", "limits.cpu": "500m"}. Any thread.
inline nlohmann::json as_json(const quota::ResourceList& amounts) {
  return nlohmann::json::parse(quota::resources_json(amounts));
}

} // namespace zoo::accounts
