// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/json_patch.hpp"

#include <nlohmann/json_fwd.hpp>

namespace zoo::resources {

using kube::json_patch;
using kube::merge_patch;

/// Server-side apply, as far as zood has it: the applied object is laid over the live one; lists
/// are replaced, null removes nothing. Who owns which field is not kept
/// (docs/decisions/011-admin-api.md).
Result<nlohmann::json> apply_patch(const nlohmann::json& object, const nlohmann::json& applied);

/// Takes out all members of objects that are null; elements of lists stay.
void drop_nulls(nlohmann::json& value);

} // namespace zoo::resources
