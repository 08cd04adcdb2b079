// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/client.hpp"
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
  auto gone = nlohmann::json::parse(response.body, nullptr, false);
  return gone.is_object() ? gone : nlohmann::json();
}

} // namespace zoo::accounts
