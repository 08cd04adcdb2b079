// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

/// Patches of objects that zood keeps itself. Pure, any thread.
namespace zoo::kube {

/// RFC 6902 on `object`, as a whole or not at all. Code::bad_request for a malformed patch,
/// Code::invalid where it does not apply (a `test` that fails, a path that is not there). Bounded:
/// 1000 operations, and `copy` cannot blow the object up beyond `result_bytes` (3 MiB), which is
/// looked at after each.
Result<nlohmann::json> json_patch(const nlohmann::json& object, const nlohmann::json& patch,
                                  std::size_t result_bytes = std::size_t{3} << 20);

/// RFC 7396. Code::bad_request if the patch is not an object.
Result<nlohmann::json> merge_patch(const nlohmann::json& object, const nlohmann::json& patch);

} // namespace zoo::kube
