// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_status.hpp"

#include "common/api/tenant.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/reservations.hpp"

#include <algorithm>

namespace zoo::accounts {
namespace {

using nlohmann::json;

constexpr std::size_t k_most_failed = 10;

json& list(json& status, const char* member) {
  auto& out = status[member];
  if (!out.is_array()) out = json::array();
  return out;
}

std::int64_t generation_of(const Account& account) {
  const auto object = json::parse(account.object, nullptr, false);
  const json::json_pointer at("/metadata/generation");
  if (!object.is_object() || !object.contains(at) || !object.at(at).is_number_integer()) return 0;
  return object.at(at).get<std::int64_t>();
}

} // namespace

void set_condition(json& status, std::string_view type, bool holds, std::string_view reason,
                   std::string_view message, std::int64_t generation, std::int64_t now) {
  auto& conditions = list(status, "conditions");
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const json& condition) {
    return text_at(condition, "/type") == type;
  });
  json wanted = {{"type", type},
                 {"status", holds ? "True" : "False"},
                 {"reason", reason},
                 {"message", message},
                 {"observedGeneration", generation},
                 {"lastTransitionTime", api::rfc3339(now)}};
  if (found == conditions.end()) {
    conditions.push_back(std::move(wanted));
    return;
  }
  if (text_at(*found, "/status") == text_at(wanted, "/status"))
    wanted["lastTransitionTime"] = found->value("lastTransitionTime", json());
  *found = std::move(wanted);
}

void note_failed_space(json& status, std::string_view space, std::string_view requester,
                       std::string_view message, std::int64_t now) {
  auto& failed = list(status, "failedSpaces");
  if (!failed.empty() && text_at(failed.back(), "/name") == space &&
      text_at(failed.back(), "/message") == message)
    return;
  failed.push_back({{"name", space},
                    {"requester", requester},
                    {"reason", "Failed"},
                    {"message", message},
                    {"time", api::rfc3339(now)}});
  while (failed.size() > k_most_failed)
    failed.erase(failed.begin());
}

bool update_status(json& status, const Account& account, const Found& found) {
  const auto before = status;
  const auto generation = generation_of(account);
  auto& namespaces = list(status, "namespaces");
  namespaces = json::array();
  for (const auto& name : found.spaces)
    namespaces.push_back({{"name", name}});
  drop_stale_entries(status, found.spaces, found.now, found.grace, found.deadline);
  if (found.waiting_for.empty()) {
    status.erase("waitingFor");
  } else {
    status["waitingFor"] = found.waiting_for;
  }
  const auto count = static_cast<std::int64_t>(found.spaces.size());
  const bool over = account.limit && count > std::max<std::int64_t>(*account.limit, 0);
  set_condition(status, "OverLimit", over, over ? "TooManySpaces" : "WithinLimit",
                over ? fmt::format("the account owns {} spaces, and may have {}: nothing is "
                                   "deleted, and no more are made",
                                   count, std::max<std::int64_t>(*account.limit, 0))
                     : std::string(),
                generation, found.now);
  if (found.looked || found.broken) {
    const bool ready = !found.broken && found.without_rights.empty();
    set_condition(status, "Ready", ready,
                  found.broken ? "Failed"
                  : ready      ? "Kept"
                               : "RoleNotFound",
                  found.broken.value_or(found.without_rights), generation, found.now);
    if (!found.broken) status["observedGeneration"] = generation;
  }
  return status != before;
}

} // namespace zoo::accounts
