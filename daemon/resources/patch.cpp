// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/patch.hpp"

#include <nlohmann/json.hpp>

namespace zoo::resources {

using nlohmann::json;

void drop_nulls(json& value) {
  if (!value.is_object()) return;
  for (auto at = value.begin(); at != value.end();) {
    if (at->is_null()) {
      at = value.erase(at);
    } else {
      drop_nulls(*at);
      ++at;
    }
  }
}

Result<json> apply_patch(const json& object, const json& applied) {
  json over = applied;
  drop_nulls(over);
  return merge_patch(object, over);
}

} // namespace zoo::resources
