// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/objects.hpp"

#include "common/base/json_text.hpp"

#include <algorithm>

namespace zoo::authz {
namespace {

using translate::JsonNode;

std::map<std::string, std::string, std::less<>> read_map(JsonNode object) {
  std::map<std::string, std::string, std::less<>> out;
  for (auto each = object.first(); each; each = each.next())
    out[each.key()] = each.string();
  return out;
}

void write_list(std::string& out, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  if (!out.ends_with('{')) out += ',';
  append_json_quoted(out, name);
  out += ":[";
  for (const auto& value : values) {
    if (!out.ends_with('[')) out += ',';
    append_json_quoted(out, value);
  }
  out += ']';
}

} // namespace

bool LabelSelector::matches(const std::map<std::string, std::string, std::less<>>& given) const {
  for (const auto& [key, value] : labels) {
    const auto found = given.find(key);
    if (found == given.end() || found->second != value) return false;
  }
  return std::all_of(expressions.begin(), expressions.end(), [&](const Expression& each) {
    const auto found = given.find(each.key);
    const bool there = found != given.end();
    const bool in = there && std::find(each.values.begin(), each.values.end(), found->second) !=
                                 each.values.end();
    if (each.op == "In") return in;
    if (each.op == "NotIn") return !in;
    if (each.op == "Exists") return there;
    return each.op == "DoesNotExist" && !there;
  });
}

std::size_t LabelSelector::words() const {
  std::size_t out = labels.size();
  for (const auto& each : expressions)
    out += 1 + each.values.size();
  return out;
}

std::vector<Rule> read_rules(JsonNode rules) {
  std::vector<Rule> out;
  for (auto each = rules.first(); each; each = each.next()) {
    Rule rule{each["verbs"].strings(), each["apiGroups"].strings(), each["resources"].strings(),
              each["resourceNames"].strings(), each["nonResourceURLs"].strings()};
    // What was no verb of the tenant's has become "".
    std::erase(rule.verbs, "");
    rule.index();
    out.push_back(std::move(rule));
  }
  return out;
}

Role read_role(JsonNode object) {
  Role out;
  const auto metadata = object["metadata"];
  out.name_space = metadata["namespace"].string();
  out.name = metadata["name"].string();
  out.labels = read_map(metadata["labels"]);
  out.rules = read_rules(object["rules"]);
  const auto aggregation = object["aggregationRule"];
  out.aggregated = aggregation.is(translate::JsonType::object);
  const auto selectors = aggregation["clusterRoleSelectors"];
  for (auto each = selectors.first(); each; each = each.next()) {
    LabelSelector selector;
    selector.labels = read_map(each["matchLabels"]);
    const auto expressions = each["matchExpressions"];
    for (auto one = expressions.first(); one; one = one.next())
      selector.expressions.push_back(
          {one["key"].string(), one["operator"].string(), one["values"].strings()});
    out.aggregation.push_back(std::move(selector));
  }
  return out;
}

Binding read_binding(JsonNode object) {
  Binding out;
  const auto metadata = object["metadata"];
  out.name_space = metadata["namespace"].string();
  out.name = metadata["name"].string();
  const auto reference = object["roleRef"];
  out.role_kind = reference["kind"].string();
  out.role_name = reference["name"].string();
  const auto subjects = object["subjects"];
  for (auto each = subjects.first(); each; each = each.next()) {
    Subject subject{each["kind"].string(), each["name"].string(), each["namespace"].string()};
    if (!subject.name.empty()) out.subjects.push_back(std::move(subject));
  }
  return out;
}

std::string write_rules(const std::vector<Rule>& rules) {
  std::string out = "[";
  for (const auto& rule : rules) {
    if (out.size() > 1) out += ',';
    out += '{';
    write_list(out, "verbs", rule.verbs);
    write_list(out, "apiGroups", rule.groups);
    write_list(out, "resources", rule.resources);
    write_list(out, "resourceNames", rule.names);
    write_list(out, "nonResourceURLs", rule.paths);
    out += '}';
  }
  return out + ']';
}

} // namespace zoo::authz
