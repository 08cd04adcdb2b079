// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rule.hpp"

#include "common/base/json_text.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace zoo::authz {
namespace {

bool has(std::span<const std::string> values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool resource_matches(const Rule& rule, const std::string& combined, std::string_view subresource) {
  for (const auto& each : rule.resources) {
    if (each == "*" || each == combined) return true;
    // `*/scale` is the scale of everything.
    if (!subresource.empty() && each.size() == subresource.size() + 2 && each.starts_with("*/") &&
        each.ends_with(subresource)) {
      return true;
    }
  }
  return false;
}

/// `/healthz/*` without its stars: Go trims all of them.
std::string_view without_stars(std::string_view path) {
  while (path.ends_with('*'))
    path.remove_suffix(1);
  return path;
}

bool path_covers(std::string_view held, std::string_view wanted) {
  if (held == wanted) return true;
  return held.ends_with('*') && wanted.starts_with(without_stars(held));
}

/// One verb with one group, resource and name, or with one path.
struct Part {
  std::string_view verb, group, resource, name, path;
  bool named = false;
};

std::vector<Part> parts_of(const Rule& rule) {
  std::vector<Part> out;
  for (const auto& group : rule.groups) {
    for (const auto& resource : rule.resources) {
      for (const auto& verb : rule.verbs) {
        if (rule.names.empty()) out.push_back({verb, group, resource, {}, {}, false});
        for (const auto& name : rule.names)
          out.push_back({verb, group, resource, name, {}, true});
      }
    }
  }
  for (const auto& path : rule.paths) {
    for (const auto& verb : rule.verbs)
      out.push_back({verb, {}, {}, {}, path, false});
  }
  return out;
}

/// More than k_max_comparisons is all the same: the product of four long lists has no room in 64
/// bits.
std::size_t part_count(const Rule& rule) {
  const auto times = [](std::size_t a, std::size_t b) {
    return std::min(a, k_max_comparisons + 1) * std::min(b, k_max_comparisons + 1);
  };
  const auto names = std::max<std::size_t>(rule.names.size(), 1);
  const auto objects = times(times(rule.groups.size(), rule.resources.size()), names);
  return times(rule.verbs.size(), objects + rule.paths.size());
}

bool resource_covered(const Rule& held, std::string_view resource) {
  if (has(held.resources, "*") || has(held.resources, resource)) return true;
  const auto slash = resource.find('/');
  if (slash == std::string_view::npos) return false;
  return has(held.resources, "*" + std::string(resource.substr(slash)));
}

bool covers(const Rule& held, const Part& part) {
  if (!has(held.verbs, "*") && !has(held.verbs, part.verb)) return false;
  if (!part.path.empty()) {
    return std::any_of(held.paths.begin(), held.paths.end(),
                       [&](const auto& path) { return path_covers(path, part.path); });
  }
  if (!has(held.groups, "*") && !has(held.groups, part.group)) return false;
  if (!resource_covered(held, part.resource)) return false;
  return held.names.empty() || (part.named && has(held.names, part.name));
}

} // namespace

bool User::in_group(std::string_view group) const { return has(groups, group); }

bool allows(const Rule& rule, const Attributes& attributes) {
  if (!has(rule.verbs, "*") && !has(rule.verbs, attributes.verb)) return false;
  if (!attributes.resource_request) {
    return std::any_of(rule.paths.begin(), rule.paths.end(),
                       [&](const auto& path) { return path_covers(path, attributes.path); });
  }
  if (!has(rule.groups, "*") && !has(rule.groups, attributes.group)) return false;
  const auto combined = attributes.subresource.empty()
                            ? attributes.resource
                            : attributes.resource + "/" + attributes.subresource;
  if (!resource_matches(rule, combined, attributes.subresource)) return false;
  return rule.names.empty() || has(rule.names, attributes.name);
}

Result<std::vector<Rule>> uncovered(std::span<const Rule> held, std::span<const Rule> wanted) {
  std::size_t parts = 0;
  for (const auto& rule : wanted)
    parts = std::min(parts + part_count(rule), k_max_comparisons + 1);
  if (parts * std::max<std::size_t>(held.size(), 1) > k_max_comparisons) {
    return fail(Code::too_large,
                "these rules combine to {} permissions, too many to compare with the {} rules that "
                "you hold; write fewer, or hold `escalate` or `bind`",
                parts, held.size());
  }
  std::vector<Rule> out;
  // Verbs of one resource are told together, as Kubernetes' CompactRules does.
  std::map<std::tuple<std::string_view, std::string_view, bool, std::string_view>, Rule> joined;
  for (const auto& rule : wanted) {
    for (const auto& part : parts_of(rule)) {
      if (std::any_of(held.begin(), held.end(),
                      [&](const Rule& each) { return covers(each, part); })) {
        continue;
      }
      if (!part.path.empty()) {
        out.push_back({{std::string(part.verb)}, {}, {}, {}, {std::string(part.path)}});
        continue;
      }
      auto& one = joined[{part.group, part.resource, part.named, part.name}];
      one.groups = {std::string(part.group)};
      one.resources = {std::string(part.resource)};
      if (part.named) one.names = {std::string(part.name)};
      one.verbs.emplace_back(part.verb);
    }
  }
  for (auto& [key, rule] : joined)
    out.push_back(std::move(rule));
  return out;
}

std::string go_list(std::span<const std::string> values) {
  std::string out = "[";
  for (const auto& value : values) {
    if (out.size() > 1) out += ' ';
    append_json_quoted(out, value);
  }
  return out + ']';
}

std::string describe(const Rule& rule) {
  std::string out;
  const auto add = [&out](std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    if (!out.empty()) out += ", ";
    out += name;
    out += ':' + go_list(values);
  };
  add("APIGroups", rule.groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.paths);
  add("ResourceNames", rule.names);
  add("Verbs", rule.verbs);
  return '{' + out + '}';
}

ServiceAccountName service_account(std::string_view user) {
  constexpr std::string_view k_prefix = "system:serviceaccount:";
  if (!user.starts_with(k_prefix)) return {};
  const auto rest = user.substr(k_prefix.size());
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const auto name = rest.substr(colon + 1);
  if (name.empty() || name.find(':') != std::string_view::npos) return {};
  return {rest.substr(0, colon), name};
}

} // namespace zoo::authz
