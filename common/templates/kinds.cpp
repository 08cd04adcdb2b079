// SPDX-License-Identifier: Apache-2.0
#include "common/templates/kinds.hpp"

#include "common/kube/client.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::templates {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds k_again{2}; ///< between two readings of one group
constexpr std::size_t k_most_groups = 1'024;

std::string group_path(std::string_view api_version) {
  const auto slash = api_version.find('/');
  if (slash == std::string_view::npos) return kube::path({"api", api_version});
  return kube::path({"apis", api_version.substr(0, slash), api_version.substr(slash + 1)});
}

Result<std::map<std::string, KindPath, std::less<>>> read(const Kinds::Get& get,
                                                          const std::string& api_version) {
  std::map<std::string, KindPath, std::less<>> out;
  const auto list = get(group_path(api_version));
  if (!list && list.error().code() == Code::not_found) return out;
  if (!list) return fail(list.error());
  const auto resources = list->value("resources", json::array());
  for (const auto& each : resources) {
    const auto name = each.value("name", ""), kind = each.value("kind", "");
    const auto verbs = each.value("verbs", json::array());
    if (name.empty() || kind.empty() || name.find('/') != std::string::npos) continue;
    if (std::find(verbs.begin(), verbs.end(), json("patch")) == verbs.end()) continue;
    out.emplace(kind, KindPath{api_version, name, each.value("namespaced", false)});
  }
  return out;
}

} // namespace

std::string KindPath::collection() const {
  return group_path(api_version) + kube::path({resource});
}

std::string KindPath::collection(std::string_view name_space) const {
  return group_path(api_version) + kube::path({"namespaces", name_space, resource});
}

std::string KindPath::object(std::string_view name_space, std::string_view name) const {
  return collection(name_space) + kube::path({name});
}

Result<KindPath> Kinds::find(const Get& get, const std::string& api_version,
                             const std::string& kind) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto group = groups_.find(api_version); group != groups_.end()) {
      const auto found = group->second.kinds.find(kind);
      if (found != group->second.kinds.end()) return found->second;
      if (Clock::now() - group->second.read < k_again)
        return fail(Code::not_found, "no matches for kind \"{}\" in version \"{}\"", kind,
                    api_version);
    }
  }
  ZOO_TRY(auto kinds, read(get, api_version));
  const std::lock_guard lock(mutex_);
  if (groups_.size() >= k_most_groups) groups_.clear();
  auto& group = groups_[api_version];
  group = {Clock::now(), std::move(kinds)};
  const auto found = group.kinds.find(kind);
  if (found == group.kinds.end())
    return fail(Code::not_found, "no matches for kind \"{}\" in version \"{}\"", kind, api_version);
  return found->second;
}

} // namespace zoo::templates
