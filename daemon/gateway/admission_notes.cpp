// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/admission_notes.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zoo::gateway {
namespace {

using translate::JsonNode;

/// Does it name a kind that has no namespace? The table lists those and the reviews.
bool names_cluster_scoped(JsonNode rule) {
  const auto resources = rule["resources"].strings();
  const auto groups = rule["apiGroups"].strings();
  for (const auto& group : groups) {
    for (const auto& resource : resources) {
      const auto* facts = translate::find_facts(group, resource.substr(0, resource.find('/')));
      if (facts != nullptr && facts->treatment != translate::Treatment::create_only) return true;
    }
  }
  return false;
}

bool acts(JsonNode rule) {
  const auto scope = rule["scope"].string();
  return scope != "Cluster" && (scope == "Namespaced" || !names_cluster_scoped(rule));
}

bool all_act(JsonNode rules) {
  const auto all = rules.children();
  return std::all_of(all.begin(), all.end(), acts);
}

} // namespace

std::string admission_warning(const translate::Target& target, std::string_view body) {
  if (target.group != "admissionregistration.k8s.io" || !target.subresource.empty()) return {};
  const auto tree = translate::JsonTree::parse(body);
  if (!tree) return {};
  const auto root = tree->root();
  bool effective = all_act(root["spec"]["matchConstraints"]["resourceRules"]) &&
                   all_act(root["spec"]["matchResources"]["resourceRules"]);
  for (const auto webhook : root["webhooks"].children())
    effective = effective && all_act(webhook["rules"]);
  if (effective) return {};
  return "299 - " + json_quote(fmt::format(
                        "{}: rules for cluster-scoped objects are stored but not effective: what a "
                        "tenant defines here acts on its namespaced objects",
                        target.resource));
}

} // namespace zoo::gateway
