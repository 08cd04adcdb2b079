// SPDX-License-Identifier: Apache-2.0
#include "cli/who.hpp"

#include "cli/cluster.hpp"
#include "cli/output/printer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::cli {

using nlohmann::json;

Result<Caller> who_am_i(Cluster& cluster) {
  ZOO_TRY(const auto answer,
          cluster.create(
              "/apis/authentication.k8s.io/v1/selfsubjectreviews",
              {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}}, false));
  Caller out{text_at(answer, "/status/userInfo/username"), {}};
  for (const auto& group : answer.value("/status/userInfo/groups"_json_pointer, json::array()))
    if (group.is_string()) out.groups.push_back(group);
  return out;
}

bool is_member(const Caller& caller, const json& account) {
  for (const auto& subject : account.value("/spec/subjects"_json_pointer, json::array())) {
    const auto kind = text_at(subject, "/kind"), name = text_at(subject, "/name");
    if (kind == "User" && name == caller.name) return true;
    if (kind == "Group" &&
        std::find(caller.groups.begin(), caller.groups.end(), name) != caller.groups.end())
      return true;
    if (kind == "ServiceAccount" &&
        caller.name ==
            fmt::format("system:serviceaccount:{}:{}", text_at(subject, "/namespace"), name))
      return true;
  }
  return false;
}

Result<std::vector<std::string>> accounts_of(Cluster& cluster, const Caller& caller) {
  auto list = cluster.list(k_own_accounts_path);
  // An administrator of the upstream reads them where nobody serves the view.
  if (!list && list.error().code() == Code::unavailable) {
    auto all = cluster.list(k_accounts_path);
    if (all) list = std::move(all);
  }
  if (!list) return fail(std::move(list).error());
  std::vector<std::string> out;
  for (const auto& account : (*list)["items"])
    if (is_member(caller, account)) out.push_back(text_at(account, "/metadata/name"));
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace zoo::cli
