// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/quota/judge.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

/// What quotas say of themselves, for `zooctl quota`. Pure; under the lock of whoever has the
/// Judge.
namespace zoo::accounts {

/// {"owner", "title", "limits": [{"slice", "scopes", "resources": [{"name", "limit", "from",
/// "used", "asked", "free", "spaces": [{"space", "used", "asked", "slice"}]}]}]}: `used` is what
/// there is, `asked` what was let in and is not seen yet. Null: nobody of that name has a quota.
nlohmann::json quota_state(const quota::Judge& judge, std::string_view owner);

/// {"pods": {"used": "3", "limit": "100"}, ...} of quotas without scopes; null: likewise.
nlohmann::json quota_use(const quota::Judge& judge, std::string_view owner);

/// What manifests would cost: a workload's pods as many as it asks for.
struct Wanted {
  std::vector<quota::Cost> costs;
  std::vector<std::string> unknown; ///< what cannot be told: a DaemonSet's number of pods
};
/// `objects`: an array. Code::invalid names the one that is no object of Kubernetes.
Result<Wanted> wanted_of(const nlohmann::json& objects);

/// Adds to quota_state(): "needs", "fits", "unknown", "full": [{"resource", "quota", "holders":
/// [{"space", "objects": [...]}]}], and "unset": what a quota wants every pod to say and these do
/// not.
nlohmann::json quota_explanation(const quota::Judge& judge, std::string_view owner,
                                 const Wanted& wanted);

} // namespace zoo::accounts
