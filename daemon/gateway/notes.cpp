// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/notes.hpp"

#include "common/base/json_text.hpp"
#include "daemon/gateway/scope.hpp"
#include "daemon/translate/actions.hpp"
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

using Reasons = std::vector<std::string>;

/// The first group that the rules name and that has the tenant's prefix in what a webhook is sent.
std::string group_of_its_own(JsonNode rules, const translate::Mapping& mapping) {
  for (const auto rule : rules.children()) {
    for (const auto& group : rule["apiGroups"].strings())
      if (group != "*" && mapping.custom_group(group)) return group;
  }
  return {};
}

void definition(JsonNode root, const translate::Mapping& mapping, Reasons& reasons) {
  if (root["spec"]["conversion"]["strategy"].string() != "Webhook") return;
  reasons.push_back(fmt::format(
      "the conversion webhook is sent objects whose apiVersion begins with {}, and must "
      "answer such (rule review-groups): set it from the review's desiredAPIVersion",
      json_quote(mapping.prefix())));
}

void admission(const translate::Target& target, const translate::Mapping& mapping, bool relayed,
               JsonNode root, Reasons& reasons) {
  bool effective = all_act(root["spec"]["matchConstraints"]["resourceRules"]) &&
                   all_act(root["spec"]["matchResources"]["resourceRules"]);
  std::string by_url, alone, slow, group;
  const bool mutates = target.resource.starts_with("mutating");
  if (mutates) alone = left_alone(root["spec"]["matchConstraints"]["resourceRules"], true);
  for (const auto webhook : root["webhooks"].children()) {
    effective = effective && all_act(webhook["rules"]);
    if (by_url.empty() && translate::calls_url(webhook)) by_url = webhook["name"].string();
    if (alone.empty()) alone = left_alone(webhook["rules"], mutates);
    if (group.empty()) group = group_of_its_own(webhook["rules"], mapping);
    if (webhook["timeoutSeconds"].integer().value_or(0) > translate::k_longest_webhook)
      slow = webhook["name"].string();
  }
  if (!group.empty() && !relayed) {
    reasons.push_back(fmt::format(
        "a webhook for group {} is sent {} in its place, in the request as in the object (rule "
        "review-groups): compare the end of a group, or say in matchConditions what you want, "
        "which see your own names",
        json_quote(group), json_quote(mapping.group_in(group))));
  }
  if (!slow.empty()) {
    reasons.push_back(fmt::format(
        "timeoutSeconds of webhook {} is held to {}: upstream's controllers wait for it "
        "(rule webhook-timeouts); name no more",
        json_quote(slow), translate::k_longest_webhook));
  }
  if (!by_url.empty()) {
    reasons.push_back(
        fmt::format("webhook {} is named by a URL: it is stored but not effective, "
                    "since the platform calls no address for a tenant (rule webhook-urls); name a "
                    "Service",
                    json_quote(by_url)));
  }
  if (!alone.empty()) {
    reasons.push_back(
        fmt::format("rules for {} are stored but not effective: what reaches out of "
                    "the tenant is not changed by its admission (rule admission-reach); "
                    "leave them out",
                    alone));
  }
  if (!effective) {
    reasons.emplace_back("rules for cluster-scoped objects are stored but not effective: what a "
                         "tenant defines here acts on its namespaced objects (rule "
                         "admission-reach); leave them out");
  }
}

void pod_security(JsonNode root, Reasons& reasons) {
  const auto labels = root["metadata"]["labels"];
  const auto level = labels[translate::k_enforce_label].string();
  if (!level.empty() && level != translate::k_enforced_level && level != "restricted") {
    reasons.push_back(
        fmt::format("{}={} is stored but not effective: the platform holds the pods "
                    "of all tenants to level {} (rule pod-security); name baseline or "
                    "restricted",
                    translate::k_enforce_label, json_quote(level), translate::k_enforced_level));
  }
  const auto version = labels[translate::k_version_label].string();
  if (!version.empty() && version != "latest") {
    reasons.push_back(fmt::format("{}={} is stored but not effective: the platform enforces the "
                                  "latest version (rule pod-security); leave the label out",
                                  translate::k_version_label, json_quote(version)));
  }
}

void classes(const translate::Target& target, JsonNode root, Reasons& reasons) {
  const auto annotations = root["metadata"]["annotations"];
  for (const auto key : {"storageclass.kubernetes.io/is-default-class",
                         "storageclass.beta.kubernetes.io/is-default-class",
                         "ingressclass.kubernetes.io/is-default-class"}) {
    if (annotations[key].string() == "true") {
      reasons.push_back(fmt::format("{} is stored but not effective: the platform's own default "
                                    "holds (rule default-classes); name this class",
                                    key));
    }
  }
  if (target.resource == "priorityclasses") {
    if (root["globalDefault"].boolean()) {
      reasons.emplace_back("globalDefault is stored but not effective: the platform's own default "
                           "holds (rule default-classes); name this class");
    }
    return;
  }
  if (root["provisioner"].string() == "kubernetes.io/no-provisioner") return;
  reasons.push_back(fmt::format("nobody of the platform's acts for a class of a tenant's own (rule "
                                "inert-classes): {}name a class that the platform shares",
                                target.resource == "runtimeclasses" ? "" : "run who does, or "));
}

bool is_class(const translate::Target& target) {
  return target.is("storage.k8s.io", "storageclasses") ||
         target.is("storage.k8s.io", "volumeattributesclasses") ||
         target.is("networking.k8s.io", "ingressclasses") ||
         target.is("node.k8s.io", "runtimeclasses") ||
         target.is("scheduling.k8s.io", "priorityclasses");
}

} // namespace

bool has_notes(const translate::Target& target) {
  return target.subresource.empty() &&
         (target.group == "admissionregistration.k8s.io" || target.is("", "namespaces") ||
          is_definition(target) || is_class(target));
}

std::string note_of(const translate::Target& target, const translate::Mapping& mapping,
                    std::string_view body, bool relayed) {
  if (!has_notes(target)) return {};
  const auto tree = translate::JsonTree::parse(body);
  if (!tree) return {};
  const auto root = tree->root();
  Reasons reasons;
  if (target.group == "admissionregistration.k8s.io") {
    admission(target, mapping, relayed, root, reasons);
  } else if (is_definition(target)) {
    if (!relayed) definition(root, mapping, reasons);
  } else if (target.resource == "namespaces") {
    pod_security(root, reasons);
  } else {
    classes(target, root, reasons);
  }
  if (reasons.empty()) return {};
  return "299 - " + json_quote(fmt::format("{}: {}", target.resource, fmt::join(reasons, "; ")));
}

} // namespace zoo::gateway
