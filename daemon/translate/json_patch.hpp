// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/json_pointer.hpp"
#include "daemon/translate/json_value.hpp"

#include <string>
#include <string_view>

/// JSON patches (RFC 6902), applied as apiserver applies them (evanphx/json-patch, which it uses):
/// to what is read here, instead of by upstream. Pure, any thread.
namespace zoo::translate {

/// Operations of one patch, as apiserver's handlers/patch.go has it.
inline constexpr std::size_t k_max_operations = 10'000;

/// Changes `document`. Code::bad_request: no patch; Code::invalid: a place that is not there, a
/// test that fails, copies of more than 3 MiB together, more than 20,000,000 members looked at;
/// Code::too_large: more than 10,000 operations. What `document` is then is of no use.
Result<void> apply_json_patch(JsonValue& document, JsonNode patch);

/// Does to `document`, which holds more than `from`, what would make `to` of `from`: what it has
/// beside stays. A list whose length differs is replaced as a whole, and so is an element that has
/// another name.
void merge_changes(JsonValue& document, const JsonValue& from, const JsonValue& to);

/// A JSON patch that makes `to` of `from`: one operation for each member of the object, and of its
/// metadata, that differs.
std::string json_patch_between(const JsonValue& from, const JsonValue& to);

} // namespace zoo::translate
