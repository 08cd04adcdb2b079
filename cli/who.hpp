// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace zoo::cli {

class Cluster;

/// Whom a Cluster takes the caller for (authentication.k8s.io/v1 SelfSubjectReview).
struct Caller {
  std::string name;
  std::vector<std::string> groups;
};
Result<Caller> who_am_i(Cluster& cluster);

/// Is the caller among the subjects of this Account?
bool is_member(const Caller& caller, const nlohmann::json& account);
/// Names of the accounts that he is a member of, sorted.
Result<std::vector<std::string>> accounts_of(Cluster& cluster, const Caller& caller);

} // namespace zoo::cli
