// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rule.hpp"

#include "common/base/json_text.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace zoo::authz {
namespace {

bool has(std::span<const std::string> values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

constexpr std::array<Rule::List, 4> k_indexed = {&Rule::verbs, &Rule::groups, &Rule::resources,
                                                 &Rule::names};
constexpr std::size_t k_worth_sorting = 32; ///< words

bool resource_matches(const Rule& rule, const std::string& combined, std::string_view subresource) {
  if (rule.has(&Rule::resources, "*") || rule.has(&Rule::resources, combined)) return true;
  // `*/scale` is the scale of everything.
  return !subresource.empty() && rule.has(&Rule::resources, "*/" + std::string(subresource));
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
  if (held.has(&Rule::resources, "*") || held.has(&Rule::resources, resource)) return true;
  const auto slash = resource.find('/');
  if (slash == std::string_view::npos) return false;
  return held.has(&Rule::resources, "*" + std::string(resource.substr(slash)));
}

/// What covers() compares at most, in words: in a sorted list as many as its logarithm.
std::size_t effort(const Rule& held) {
  std::size_t out = held.paths.size();
  for (std::size_t i = 0; i < k_indexed.size(); ++i)
    out += held.sorted[i].empty() ? (held.*k_indexed[i]).size() : k_worth_sorting;
  return out + 1;
}

bool covers(const Rule& held, const Part& part) {
  if (!held.has(&Rule::verbs, "*") && !held.has(&Rule::verbs, part.verb)) return false;
  if (!part.path.empty()) {
    return std::any_of(held.paths.begin(), held.paths.end(),
                       [&](const auto& path) { return path_covers(path, part.path); });
  }
  if (!held.has(&Rule::groups, "*") && !held.has(&Rule::groups, part.group)) return false;
  if (!resource_covered(held, part.resource)) return false;
  return held.names.empty() || (part.named && held.has(&Rule::names, part.name));
}

} // namespace

void Rule::index() {
  for (std::size_t i = 0; i < k_indexed.size(); ++i) {
    const auto& list = this->*k_indexed[i];
    auto& places = sorted[i];
    places.clear();
    if (list.size() < k_worth_sorting) continue;
    places.resize(list.size());
    std::iota(places.begin(), places.end(), 0U);
    std::sort(places.begin(), places.end(),
              [&list](std::uint32_t a, std::uint32_t b) { return list[a] < list[b]; });
  }
}

bool Rule::has(List list, std::string_view word) const {
  const auto& words = this->*list;
  const auto at = std::find(k_indexed.begin(), k_indexed.end(), list);
  if (at == k_indexed.end()) return authz::has(words, word);
  const auto& places = sorted[static_cast<std::size_t>(at - k_indexed.begin())];
  if (places.empty()) return authz::has(words, word);
  const auto found = std::lower_bound(
      places.begin(), places.end(), word,
      [&words](std::uint32_t place, std::string_view wanted) { return words[place] < wanted; });
  return found != places.end() && words[*found] == word;
}

std::size_t Rule::words() const {
  return verbs.size() + groups.size() + resources.size() + names.size() + paths.size();
}

std::size_t Rule::bytes() const {
  std::size_t out = sizeof *this;
  for (const auto* list : {&verbs, &groups, &resources, &names, &paths}) {
    for (const auto& word : *list)
      out += sizeof word + word.size();
  }
  return out;
}

bool User::in_group(std::string_view group) const { return has(groups, group); }

bool allows(const Rule& rule, const Attributes& attributes) {
  if (!rule.has(&Rule::verbs, "*") && !rule.has(&Rule::verbs, attributes.verb)) return false;
  if (!attributes.resource_request) {
    return std::any_of(rule.paths.begin(), rule.paths.end(),
                       [&](const auto& path) { return path_covers(path, attributes.path); });
  }
  if (!rule.has(&Rule::groups, "*") && !rule.has(&Rule::groups, attributes.group)) return false;
  const auto combined = attributes.subresource.empty()
                            ? attributes.resource
                            : attributes.resource + "/" + attributes.subresource;
  if (!resource_matches(rule, combined, attributes.subresource)) return false;
  return rule.names.empty() || rule.has(&Rule::names, attributes.name);
}

Result<std::vector<Rule>> uncovered(std::span<const Rule> held, std::span<const Rule> wanted) {
  std::size_t parts = 0;
  for (const auto& rule : wanted)
    parts = std::min(parts + part_count(rule), k_max_comparisons + 1);
  std::size_t for_each = 1;
  for (const auto& rule : held)
    for_each = std::min(for_each + effort(rule), k_max_comparisons + 1);
  if (parts * for_each > k_max_comparisons) {
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
