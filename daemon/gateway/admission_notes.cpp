// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/admission_notes.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/rewrite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

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

/// The first resource that the rules name and that is left alone: by who changes objects, or by who
/// looks at them too.
std::string left_alone(JsonNode rules, bool mutates) {
  for (const auto rule : rules.children()) {
    for (const auto& group : rule["apiGroups"].strings()) {
      for (const auto& resource : rule["resources"].strings())
        if (mutates ? translate::reaches_out(group, resource)
                    : translate::builtin_group(group) && translate::is_theirs(resource))
          return resource;
    }
  }
  return {};
}

} // namespace

std::string admission_warning(const translate::Target& target, std::string_view body) {
  if (target.group != "admissionregistration.k8s.io" || !target.subresource.empty()) return {};
  const auto tree = translate::JsonTree::parse(body);
  if (!tree) return {};
  const auto root = tree->root();
  bool effective = all_act(root["spec"]["matchConstraints"]["resourceRules"]) &&
                   all_act(root["spec"]["matchResources"]["resourceRules"]);
  std::string by_url, alone;
  const bool mutates = target.resource.starts_with("mutating");
  if (mutates) alone = left_alone(root["spec"]["matchConstraints"]["resourceRules"], true);
  for (const auto webhook : root["webhooks"].children()) {
    effective = effective && all_act(webhook["rules"]);
    if (by_url.empty() && translate::calls_url(webhook)) by_url = webhook["name"].string();
    if (alone.empty()) alone = left_alone(webhook["rules"], mutates);
  }
  std::vector<std::string> reasons;
  if (!by_url.empty()) {
    reasons.push_back(
        fmt::format("webhook {} is named by a URL: it is stored but not effective, "
                    "since the platform calls no address for a tenant; name a Service",
                    json_quote(by_url)));
  }
  if (!alone.empty()) {
    reasons.push_back(fmt::format("rules for {} are stored but not effective: what reaches out of "
                                  "the tenant is not changed by its admission",
                                  alone));
  }
  if (!effective) {
    reasons.emplace_back("rules for cluster-scoped objects are stored but not effective: what a "
                         "tenant defines here acts on its namespaced objects");
  }
  if (reasons.empty()) return {};
  return "299 - " + json_quote(fmt::format("{}: {}", target.resource, fmt::join(reasons, "; ")));
}

} // namespace zoo::gateway
