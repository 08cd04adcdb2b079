// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/own_name.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/target.hpp"
#include "daemon/translate/text.hpp"
#include "daemon/translate/validity.hpp"

#include <algorithm>

namespace zoo::translate {
namespace {

bool dns_subdomain(std::string_view text) {
  const auto labels = text::split(text, '.');
  return std::all_of(labels.begin(), labels.end(), dns_label);
}

bool by_path_segment(const KindFacts& facts) {
  return facts.group == k_rbac_group || facts.resource == "certificatesigningrequests";
}

Misnamed misnamed_as(std::string_view own, std::string prefixed, std::string_view spoiler) {
  Misnamed out;
  out.own = own;
  out.upstream = prefixed + std::string(spoiler);
  out.prefixed = std::move(prefixed);
  return out;
}

/// What stands behind the first dot of a definition's name.
std::string_view group_of(std::string_view definition) {
  const auto dot = definition.find('.');
  return dot == std::string_view::npos ? std::string_view() : definition.substr(dot + 1);
}

} // namespace

std::optional<Misnamed> misnamed(const Mapping& mapping, const KindFacts* facts,
                                 std::string_view name) {
  if (facts == nullptr || name.empty()) return std::nullopt;
  auto prefixed = object_name_in(mapping, facts, name);
  if (prefixed == name) return std::nullopt;
  if (by_path_segment(*facts)) {
    if (name != "." && name != "..") return std::nullopt;
    auto out = misnamed_as(name, std::move(prefixed), "%");
    const auto mine = json_quote(name), theirs = json_quote(out.upstream);
    out.words = {
        {theirs + ": may not contain '%'", mine + ": may not be '" + std::string(name) + "'"},
        {theirs, mine}};
    return out;
  }
  const bool label = facts->resource == "namespaces";
  const auto good = [label](std::string_view each) {
    return label ? dns_label(each) : dns_subdomain(each);
  };
  if (good(name) || !good(prefixed)) return std::nullopt;
  auto out = misnamed_as(name, std::move(prefixed), "_");
  out.words = {{json_quote(out.upstream), json_quote(name)}};
  // A definition's group is in its name (with_upstream_name()).
  if (facts->names == NameRule::crd)
    out.words.emplace_back(json_quote(group_of(out.upstream)), json_quote(group_of(name)));
  return out;
}

std::string with_upstream_name(const Misnamed& misnamed, std::string object) {
  const auto tree = JsonTree::parse(object);
  if (!tree) return object;
  const auto name = tree->root()["metadata"]["name"];
  if (name.string() != misnamed.prefixed) return object;
  JsonEdits edits;
  edits.quote(name, misnamed.upstream);
  // A definition has its group in its name: else upstream would say that the two do not fit.
  const auto group = tree->root()["spec"]["group"];
  const auto within = group_of(misnamed.prefixed);
  if (!within.empty() && group.string() == within) edits.quote(group, group_of(misnamed.upstream));
  return edits.apply(object);
}

std::string words_out(const Misnamed& misnamed, std::string text) {
  for (const auto& [from, to] : misnamed.words)
    replace_all(text, from, to);
  return text;
}

} // namespace zoo::translate
