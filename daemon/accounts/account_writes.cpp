// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/account_writes.hpp"

#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/objects.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/accounts/user_requests.hpp"
#include "daemon/accounts/views.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using resources::Written;

/// Members who are every user of the cluster are rarely meant.
std::vector<std::string> warnings_of(const Account& account) {
  std::vector<std::string> out;
  for (const auto& [group, who] :
       {std::pair{authz::k_authenticated, "every user of the cluster"},
        std::pair{authz::k_unauthenticated, "whoever reaches the cluster"}}) {
    const auto key = fmt::format("g:{}", group);
    if (std::binary_search(account.subject_keys.begin(), account.subject_keys.end(), key))
      out.push_back(
          fmt::format("group {} is among the members of account \"{}\": {} is one, and has "
                      "their role in each of its spaces",
                      group, account.name, who));
  }
  return out;
}

Result<Written> written(const Result<json>& stored) {
  if (!stored) return fail(as_tenancy(stored.error(), "Account"));
  const auto account = read_account(text_of(*stored));
  if (!account) return Written{};
  return Written{resources::make_object(tenancy_account(*account)), warnings_of(*account)};
}

json status_of(const json& object) {
  const auto found = object.find("status");
  return found != object.end() && !found->is_null() ? *found : json::object();
}

} // namespace

Result<void> AccountWrites::admit(const resources::Who& who, std::string_view verb,
                                  std::string_view other, std::string_view name) const {
  ZOO_TRY(const auto state, parts_.state());
  const auto user = user_of(who);
  if (may_on(*state, user, verb, k_tenancy_group, "accounts", name) ||
      (!other.empty() && may_on(*state, user, other, k_tenancy_group, "accounts", name)))
    return {};
  return fail(Code::forbidden,
              "user \"{}\" cannot {} account \"{}\": it takes the right to {} accounts in group {}",
              user.name, verb, name, verb, k_tenancy_group);
}

/// Who gives members a role upstream must be allowed to bind it there. The policy
/// zoo-accounts-roles says the same of those who write Accounts upstream themselves.
Result<void> AccountWrites::may_give_role(const resources::Who& who, const json& wanted,
                                          const json* live) const {
  const auto account = read_account(text_of(wanted));
  if (!account) return {};
  const auto before = live == nullptr ? nullptr : read_account(text_of(*live));
  const bool same = before && before->cluster_role == account->cluster_role &&
                    value_at(wanted, "/spec/subjects") == value_at(*live, "/spec/subjects");
  std::vector<std::string> given;
  if (!same) given.push_back(account->cluster_role.value_or(parts_.default_cluster_role));
  if (!before ||
      value_at(wanted, "/spec/space/bindings") != value_at(*live, "/spec/space/bindings"))
    for (const auto& each : account->roles)
      given.push_back(each.cluster_role);
  const auto user = user_of(who);
  for (const auto& role : given) {
    if (role.empty()) continue;
    ZOO_TRY(const auto state, parts_.state());
    if (may_on(*state, user, "bind", "rbac.authorization.k8s.io", "clusterroles", role)) continue;
    return fail(
        Code::forbidden,
        "user \"{}\" may not give the members of account \"{}\" the role \"{}\": this needs "
        "the right to bind it (verb bind on clusterroles)",
        user.name, account->name, role);
  }
  return {};
}

Result<Written> AccountWrites::create(const resources::Who& who, json account,
                                      const resources::WriteOptions& options) {
  ZOO_TRY_VOID(admit(who, "create", {}, {}));
  auto object = in_config(std::move(account));
  ZOO_TRY_VOID(may_give_role(who, object, nullptr));
  object.erase("status");
  const auto api = connections_.take();
  return written((*api).create(config_path("accounts") + query_of(options), object));
}

Result<Written> AccountWrites::update(const resources::Who& who, json account,
                                      const resources::WriteOptions& options) {
  const auto name = text_at(account, "/metadata/name");
  ZOO_TRY_VOID(admit(who, "update", "patch", name));
  auto object = in_config(std::move(account));
  const auto api = connections_.take();
  const auto live = (*api).get(account_path(name));
  if (!live) return fail(as_tenancy(live.error(), "Account"));
  ZOO_TRY_VOID(may_give_role(who, object, &*live));
  if (object.contains("status") && status_of(object) != status_of(*live)) {
    // Of an older version upstream says that it is one.
    const auto version = text_at(object, "/metadata/resourceVersion");
    if (version.empty() || version == text_at(*live, "/metadata/resourceVersion"))
      return fail(Code::invalid, "status: field is immutable: zood writes the status of accounts");
  }
  object.erase("status");
  if (text_at(object, "/metadata/resourceVersion").empty())
    object["metadata"]["resourceVersion"] = text_at(*live, "/metadata/resourceVersion");
  return written((*api).update(account_path(name) + query_of(options), object));
}

Result<Written> AccountWrites::remove(const resources::Who& who, const resources::Key& key,
                                      const resources::Preconditions& expected,
                                      const resources::WriteOptions& options) {
  ZOO_TRY_VOID(admit(who, "delete", {}, key.name));
  const auto api = connections_.take();
  const auto gone = remove_for_user(*api, account_path(key.name), expected, options);
  if (gone && text_at(*gone, "/kind") != "Account") return Written{};
  ZOO_TRY(auto out, written(gone));
  out.warnings.clear(); // its members are what they were
  return out;
}

} // namespace zoo::accounts
