// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/validity.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/selector.hpp"
#include "daemon/translate/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace zoo::translate {
namespace {

class Faults {
public:
  void required(std::string field, std::string_view why = "") {
    add("FieldValueRequired", std::move(field),
        why.empty() ? "Required value" : fmt::format("Required value: {}", why));
  }
  void unsupported(std::string field, std::string_view value, std::string_view supported) {
    add("FieldValueNotSupported", std::move(field),
        fmt::format("Unsupported value: {}: supported values: {}", json_quote(value), supported));
  }
  /// `value` is JSON.
  void invalid(std::string field, std::string_view value, std::string_view why) {
    add("FieldValueInvalid", std::move(field), fmt::format("Invalid value: {}: {}", value, why));
  }
  void forbidden(std::string field, std::string_view why) {
    add("FieldValueForbidden", std::move(field), fmt::format("Forbidden: {}", why));
  }
  std::vector<kube::StatusCause> all;

private:
  void add(std::string reason, std::string field, std::string message) {
    constexpr std::size_t k_most = 100; // an answer is read by people
    if (all.size() < k_most)
      all.push_back({std::move(reason), std::move(message), std::move(field)});
  }
};

bool given(JsonNode node) { return node && !node.is(JsonType::null); }

void binding(JsonNode object, bool whole, Faults& faults) {
  const auto kind = object["roleRef"]["kind"];
  if ((whole || given(kind)) && kind.string() != "ClusterRole")
    faults.unsupported("roleRef.kind", kind.string(), R"("ClusterRole")");
  std::size_t index = 0;
  for (auto subject = object["subjects"].first(); subject; subject = subject.next(), ++index) {
    const bool account = subject["kind"].string() == "ServiceAccount";
    if (!account || !subject["namespace"].string().empty()) continue;
    if (subject["name"].string().empty()) faults.required(fmt::format("subjects[{}].name", index));
    faults.required(fmt::format("subjects[{}].namespace", index));
  }
}

constexpr std::string_view k_key_form =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character, at most 63 characters, after an optional DNS subdomain prefix "
    "and '/'";
constexpr std::string_view k_value_form =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character, at most 63 characters";

void requirement(JsonNode node, const std::string& at, Faults& faults) {
  const auto op = node["operator"].string();
  const auto values = node["values"];
  if (op == "In" || op == "NotIn") {
    if (!values.first())
      faults.required(at + ".values", "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (values.first())
      faults.forbidden(at + ".values",
                       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else {
    faults.invalid(at + ".operator", json_quote(op), "not a valid selector operator");
  }
  const auto key = node["key"].string();
  if (!valid_label_key(key)) faults.invalid(at + ".key", json_quote(key), k_key_form);
  std::size_t index = 0;
  for (auto value = values.first(); value; value = value.next(), ++index) {
    if (!valid_label_value(value.string()))
      faults.invalid(fmt::format("{}.values[{}]", at, index), json_quote(value.string()),
                     k_value_form);
  }
}

void selector(JsonNode node, const std::string& at, Faults& faults) {
  const auto before = faults.all.size();
  for (auto label = node["matchLabels"].first(); label; label = label.next()) {
    if (!valid_label_key(label.key()))
      faults.invalid(at + ".matchLabels", json_quote(label.key()), k_key_form);
    if (!valid_label_value(label.string()))
      faults.invalid(at + ".matchLabels", json_quote(label.string()), k_value_form);
  }
  std::size_t index = 0;
  for (auto each = node["matchExpressions"].first(); each; each = each.next(), ++index)
    requirement(each, fmt::format("{}.matchExpressions[{}]", at, index), faults);
  if (faults.all.size() != before) faults.invalid(at, "null", "invalid label selector.");
}

void role(JsonNode object, Faults& faults) {
  const auto rule = object["aggregationRule"];
  const std::string at = "aggregationRule.clusterRoleSelectors";
  if (!given(rule)) return;
  const auto selectors = rule["clusterRoleSelectors"];
  if (!selectors.first()) {
    faults.required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil");
  }
  std::size_t index = 0;
  for (auto each = selectors.first(); each; each = each.next(), ++index)
    selector(each, fmt::format("{}[{}]", at, index), faults);
}

void scopes(JsonNode rules, const std::string& at, Faults& faults) {
  std::size_t index = 0;
  for (auto rule = rules.first(); rule; rule = rule.next(), ++index) {
    const auto node = rule["scope"];
    const auto scope = node.string();
    if (!node.is(JsonType::string) || scope == "*" || scope == "Cluster" || scope == "Namespaced")
      continue;
    faults.unsupported(fmt::format("{}[{}].scope", at, index), scope,
                       R"("*", "Cluster", "Namespaced")");
  }
}

void admission(JsonNode object, Faults& faults) {
  std::size_t index = 0;
  for (auto hook = object["webhooks"].first(); hook; hook = hook.next(), ++index) {
    const auto at = fmt::format("webhooks[{}]", index);
    scopes(hook["rules"], at + ".rules", faults);
    const auto timeout = hook["timeoutSeconds"].integer();
    if (timeout && (*timeout < 1 || *timeout > 30))
      faults.invalid(at + ".timeoutSeconds", std::to_string(*timeout),
                     "the timeout value must be between 1 and 30 seconds");
  }
  for (const std::string where : {"matchConstraints", "matchResources"}) {
    for (const std::string rules : {"resourceRules", "excludeResourceRules"})
      scopes(object["spec"][where][rules], fmt::format("spec.{}.{}", where, rules), faults);
  }
}

bool level_ok(std::string_view level) {
  return level == "privileged" || level == "baseline" || level == "restricted";
}

/// "latest" or "v1.x"
bool version_ok(std::string_view version) {
  constexpr std::string_view k_start = "v1.";
  if (version == "latest") return true;
  if (!version.starts_with(k_start)) return false;
  version.remove_prefix(k_start.size());
  const bool digits = !version.empty() && std::all_of(version.begin(), version.end(),
                                                      [](char c) { return c >= '0' && c <= '9'; });
  return digits && (version.size() == 1 || version.front() != '0');
}

/// Levels and versions of pod security, in the order of PolicyToEvaluate
/// (k8s.io/pod-security-admission api/helpers.go). Upstream judges what zood enforces, not what the
/// tenant wished.
void space(JsonNode object, Faults& faults) {
  const auto labels = object["metadata"]["labels"];
  for (const std::string mode : {"enforce", "audit", "warn"}) {
    const auto key = "pod-security.kubernetes.io/" + mode, version_key = key + "-version";
    const auto level = labels[key], version = labels[version_key];
    if (level.is(JsonType::string) && !level_ok(level.string()))
      faults.invalid("metadata.labels[" + key + "]", json_quote(level.string()),
                     "must be one of privileged, baseline, restricted");
    if (version.is(JsonType::string) && !version_ok(version.string()))
      faults.invalid("metadata.labels[" + version_key + "]", json_quote(version.string()),
                     R"(must be "latest" or "v1.x")");
  }
}

/// ValidatePriorityClass (k8s.io/kubernetes pkg/apis/scheduling/validation): upstream sees another
/// name.
void priority_class(JsonNode object, Faults& faults) {
  constexpr std::int64_t k_highest = 1'000'000'000;
  const auto name = object["metadata"]["name"].string();
  const bool theirs = name == "system-cluster-critical" || name == "system-node-critical";
  if (theirs) return; // there are such, which are not the tenant's
  if (name.starts_with("system-")) {
    faults.forbidden("metadata.name",
                     fmt::format("priority class names with 'system-' prefix are "
                                 "reserved for system use only. error: {} is not a "
                                 "known system priority class",
                                 name));
  } else if (object["value"].integer().value_or(0) > k_highest) {
    faults.forbidden(
        "value", fmt::format("maximum allowed value of a user defined priority is {}", k_highest));
  }
}

constexpr std::string_view k_priorities = "scheduling.k8s.io";
constexpr std::string_view k_admission = "admissionregistration.k8s.io";

bool alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

} // namespace

bool dns_label(std::string_view text) {
  return !text.empty() && alphanumeric(text.front()) && alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return alphanumeric(c) || c == '-'; });
}

bool has_validity(std::string_view group, std::string_view resource) {
  return group == k_admission || (group.empty() && resource == "namespaces") ||
         (group == k_priorities && resource == "priorityclasses") ||
         (group == k_rbac_group &&
          (resource == "clusterrolebindings" || resource == "clusterroles"));
}

std::vector<kube::StatusCause> faults_of(std::string_view group, std::string_view resource,
                                         JsonNode object, bool whole) {
  Faults faults;
  if (group == k_admission) {
    admission(object, faults);
  } else if (resource == "namespaces") {
    space(object, faults);
  } else if (resource == "priorityclasses") {
    priority_class(object, faults);
  } else if (resource == "clusterrolebindings") {
    binding(object, whole, faults);
  } else if (resource == "clusterroles") {
    role(object, faults);
  }
  return std::move(faults.all);
}

} // namespace zoo::translate
