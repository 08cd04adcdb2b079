// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/request.hpp"

#include <optional>

namespace zoo::admin {

/// /api, /apis (as APIGroupList, and aggregated per KEP-3352), /apis/<group>,
/// /apis/<group>/<version> and /version; nothing if the path is none of them. Pure.
std::optional<Answer> discovery_answer(const Request& request);

/// For what a client may keep: adds ETag, and answers 304 if it has it already.
Answer cacheable(const Request& request, Answer answer);

} // namespace zoo::admin
