// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace zoo::upstream {
class ControlApi;
}

/// How the controller of tenants brings an object upstream about. Blocking; on the thread whose
/// ControlApi it is. Errors are upstream's, with what was being done.
namespace zoo::tenants {

/// Made, or made equal to what is wanted if it is there already: one request in the common case.
/// `collection`: upstream's path of it.
Result<void> ensure(upstream::ControlApi& api, const std::string& collection,
                    const nlohmann::json& object);

/// What is there already is written only where it differs: a resync changes no resourceVersion.
Result<void> repair(upstream::ControlApi& api, const std::string& collection,
                    const nlohmann::json& object);

} // namespace zoo::tenants
