// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/virtuals/kinds.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class ControlApi;
}

namespace zoo::virtuals {

/// What upstream would make of an object.
struct Verdict {
  bool accepted = false;
  nlohmann::json spec;               ///< with its defaults
  nlohmann::json object_status;      ///< of a kind that stands beside upstream's; null: none
  int status = 0;                    ///< of a refusal
  std::string body;                  ///< of a refusal: the Status, in the tenant's names
  std::vector<std::string> warnings; ///< values of Warning header fields
};

/// Code::unavailable and kin where upstream could not be asked.
using Validate =
    std::function<Result<Verdict>(const Kind& kind, const nlohmann::json& object,
                                  const translate::Mapping& mapping, std::string_view strictness)>;

/// Asks upstream itself: a create with dryRun=All under a name of the tenant's, so that defaults,
/// validation, and what it says of unknown fields (`strictness`: fieldValidation) are its own
/// (docs/decisions/050). Blocking; `api` on one thread at a time.
Result<Verdict> ask_upstream(upstream::ControlApi& api, const Kind& kind,
                             const nlohmann::json& object, const translate::Mapping& mapping,
                             std::string_view strictness);

/// A revision that upstream gives to nobody else, by a write of our own there (ConfigMap
/// zoo-system/zoo-revisions): greater than those of all writes that were answered before. Blocking.
Result<std::int64_t> next_revision(upstream::ControlApi& api);

} // namespace zoo::virtuals
