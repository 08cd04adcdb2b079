// SPDX-License-Identifier: Apache-2.0
// What an AccountQuota says of itself.
#include "common/api/tenant.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/accounts/quota_json.hpp"
#include "daemon/accounts/quota_keeper.hpp"
#include "daemon/quota/cost.hpp"
#include "daemon/quota/moves.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using quota::of_names;
using quota::ResourceList;

/// "pods 3/10, limits.cpu 500m/4"
std::string use_text(const ResourceList& used, const ResourceList& hard) {
  std::string out;
  for (const auto& [name, limit] : hard)
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", name, used.at(name).text(),
                       limit.text());
  return out;
}

json condition(std::string_view type, bool holds, std::string_view reason, std::string message) {
  return {{"type", type},
          {"status", holds ? "True" : "False"},
          {"reason", reason},
          {"message", std::move(message)}};
}

/// The time of those that were so before stays.
json with_times(json conditions, const json& before, const std::string& now) {
  for (auto& one : conditions) {
    one["lastTransitionTime"] = now;
    if (!before.is_array()) continue;
    for (const auto& old : before)
      if (old.value("type", "") == one.value("type", "") &&
          old.value("status", "") == one.value("status", "") && old.contains("lastTransitionTime"))
        one["lastTransitionTime"] = old["lastTransitionTime"];
  }
  return conditions;
}

} // namespace

/// The status of each AccountQuota of the account: what is used, in all and space by space.
Result<QuotaKeeper::Next> QuotaKeeper::look_at_status(upstream::ControlApi& api,
                                                      const std::string& account) {
  ZOO_TRY(const auto state, parts_.state());
  for (const auto& quota : table_.quotas_of(account)) {
    const quota::QuotaSpec only_this[] = {quota};
    const auto limits = quota::limits_of(only_this);
    auto trouble = quota::trouble_of(quota);
    if (limits.empty() && trouble.empty()) continue;
    const auto limit = limits.empty() ? quota::Limit() : limits.front();
    if (trouble.empty()) trouble = refusal_of(account, limit.slice_name);
    ResourceList used;
    auto spaces = json::array();
    for (const auto& known : table_.slices_of(account)) {
      if (known.name != limit.slice_name) continue;
      const auto here = of_names(known.slice.used, limit.hard);
      quota::add(used, here);
      spaces.push_back(
          {{"namespace", known.space},
           {"status",
            {{"hard", as_json(of_names(known.slice.hard, limit.hard))}, {"used", as_json(here)}}}});
    }
    used = of_names(used, limit.hard);
    std::size_t without = 0;
    for (const auto& space : owner_of(*state, account).spaces)
      if (!table_.slice(space, limit.slice_name)) ++without;
    const auto over = quota::beyond(used, limit.hard);
    auto conditions = json::array();
    conditions.push_back(
        !trouble.empty() ? condition("Enforced", false, "Refused", trouble)
        : !state->accounts.find(account)
            ? condition("Enforced", false, "NoAccount",
                        fmt::format("there is no account \"{}\"", account))
        : without != 0 ? condition("Enforced", false, "Pending",
                                   fmt::format("{} spaces have no slice of it yet", without))
                       : condition("Enforced", true, "Sliced",
                                   "each space has a part of it, which upstream holds it to"));
    conditions.push_back(
        over.empty() ? condition("Exceeded", false, "Within", "")
                     : condition("Exceeded", true, "Above",
                                 fmt::format("more is used than the limit allows, by {}: nothing "
                                             "grows until it is gone",
                                             quota::amounts_text(over))));
    ZOO_TRY(auto live, api.get(config_path("accountquotas", quota.name)));
    const auto before = live.value("status", json::object());
    json status = {{"total", {{"hard", as_json(limit.hard)}, {"used", as_json(used)}}},
                   {"namespaces", spaces},
                   {"use", use_text(used, limit.hard)}};
    status["conditions"] = with_times(std::move(conditions), before.value("conditions", json()),
                                      api::rfc3339(parts_.now()));
    if (before == status) continue;
    live["status"] = status;
    const auto done = api.update(config_path("accountquotas", quota.name) + "/status", live);
    if (!done && done.error().code() != Code::not_found) return fail(done.error());
  }
  return Next{};
}

} // namespace zoo::accounts
