// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

/// What upstream is asked for in the words of a user's write.
namespace zoo::accounts {

/// What goes behind the path of a POST or PUT.
inline std::string query_of(const resources::WriteOptions& options) {
  kube::Query query = {{"fieldManager", options.manager}};
  if (options.dry_run) query.emplace_back("dryRun", "All");
  return kube::with_query("", query);
}

/// What upstream made of an object that was applied.
struct AppliedForUser {
  nlohmann::json object;
  bool created = false;
};

/// Applies an object on the server, under the user's field manager. Errors are those of upstream.
/// Blocks.
inline Result<AppliedForUser> apply_for_user(upstream::ControlApi& api, std::string_view path,
                                             const nlohmann::json& config,
                                             const resources::WriteOptions& options) {
  kube::Query query = {{"fieldManager", options.manager}};
  if (options.force) query.emplace_back("force", "true");
  if (options.dry_run) query.emplace_back("dryRun", "All");
  ZOO_TRY(const auto response, api.request("PATCH", kube::with_query(path, query),
                                           "application/apply-patch+yaml", // JSON is YAML, too
                                           kube::text_of(config), "application/json"));
  if (response.status < 200 || response.status > 299) return fail(kube::error_of(response));
  auto out = kube::parse_foreign(response.body);
  if (!out.is_object())
    return fail(Code::unavailable, "the upstream answered what was applied with no object");
  return AppliedForUser{std::move(out), response.status == 201};
}

/// An error of upstream for a client that asked for tenancy.kiosk.sh: it names an object of
/// config.kiosk.sh, where it is stored. The words in which upstream begins to say that an object is
/// invalid are left out, since the door writes its own. `kind`: of the object.
inline Error as_tenancy(const Error& error, std::string_view kind) {
  auto text = error.message();
  constexpr std::string_view k_invalid = "\" is invalid: ";
  if (const auto at = text.find(k_invalid); error.code() == Code::invalid &&
                                            at != std::string::npos &&
                                            text.starts_with(std::string(kind) + "."))
    text.erase(0, at + k_invalid.size());
  for (auto at = text.find(k_config_group); at != std::string::npos; at = text.find(k_config_group))
    text.replace(at, k_config_group.size(), k_tenancy_group);
  return {error.code(), std::move(text)};
}

/// Deletes an object under the user's conditions. The answer is the object, a Status, or null if it
/// was neither. Errors are those of upstream. Blocks.
inline Result<nlohmann::json> remove_for_user(upstream::ControlApi& api, std::string_view path,
                                              const resources::Preconditions& expected,
                                              const resources::WriteOptions& options) {
  auto conditions = nlohmann::json::object();
  if (!expected.uid.empty()) conditions["uid"] = expected.uid;
  if (!expected.resource_version.empty()) conditions["resourceVersion"] = expected.resource_version;
  nlohmann::json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!conditions.empty()) body["preconditions"] = std::move(conditions);
  kube::Query query;
  if (options.dry_run) query.emplace_back("dryRun", "All");
  ZOO_TRY(const auto response, api.request("DELETE", kube::with_query(path, query),
                                           "application/json", body.dump(), "application/json"));
  if (response.status < 200 || response.status > 299) return fail(kube::error_of(response));
  auto gone = kube::parse_foreign(response.body);
  return gone.is_object() ? gone : nlohmann::json();
}

} // namespace zoo::accounts
