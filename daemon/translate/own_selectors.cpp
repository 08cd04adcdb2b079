// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/own_selectors.hpp"

#include "common/base/json_text.hpp"

namespace zoo::translate {
namespace {

constexpr std::string_view k_selector = "namespaceSelector";

/// The managers of this selector: the one that applies as `manager`, and any other.
struct Owners {
  bool manager = false, others = false;
};

Owners owners_of(JsonNode stored, const SelectorPlace& place, std::string_view manager) {
  Owners out;
  const auto* above = place.webhook.empty() ? "f:spec" : "f:webhooks";
  for (auto entry = stored["metadata"]["managedFields"].first(); entry; entry = entry.next()) {
    if (!entry["fieldsV1"][above][place.field]["f:namespaceSelector"]) continue;
    const bool same = entry["manager"].string() == manager &&
                      entry["operation"].string() == "Apply" &&
                      entry["subresource"].string().empty();
    (same ? out.manager : out.others) = true;
  }
  return out;
}

const SelectorPlace* find(const std::vector<SelectorPlace>& places, const std::string& field) {
  for (const auto& place : places) {
    if (place.field == field) return &place;
  }
  return nullptr;
}

} // namespace

std::vector<SelectorPlace> selector_places(JsonNode object) {
  std::vector<SelectorPlace> out;
  for (auto hook = object["webhooks"].first(); hook; hook = hook.next()) {
    auto name = hook["name"].string();
    auto field = "k:{\"name\":" + json_quote(name) + "}";
    out.push_back({hook, std::move(name), std::move(field)});
  }
  if (const auto spec = object["spec"]; spec.is(JsonType::object))
    out.push_back({spec["matchConstraints"], "", "f:matchConstraints"});
  return out;
}

bool is_bare(JsonNode selector) {
  const auto labels = selector["matchLabels"];
  const auto only = labels.first();
  return only && !only.next() && only.key() == k_tenant_label &&
         !selector["matchExpressions"].first();
}

Result<std::string> with_own_selectors(const Mapping& mapping, std::string body, JsonNode stored,
                                       std::string_view manager) {
  ZOO_TRY(const auto tree, JsonTree::parse(body));
  const auto there = selector_places(stored);
  const auto selector =
      "{\"matchLabels\":{" + json_quote(k_tenant_label) + ':' + json_quote(mapping.id()) + "}}";
  JsonEdits edits;
  for (const auto& place : selector_places(tree.root())) {
    if (place.owner[k_selector]) continue;
    if (const auto* known = find(there, place.field); known != nullptr && known->owner) {
      const auto owners = owners_of(stored, place, manager);
      if (!owners.manager || owners.others) continue;
    }
    if (place.owner.is(JsonType::object)) {
      edits.append(place.owner, k_selector, selector);
    } else if (!place.owner && place.webhook.empty()) {
      edits.append(tree.root()["spec"], "matchConstraints",
                   '{' + json_quote(k_selector) + ':' + selector + '}');
    } // else upstream says what is wrong with it
  }
  return edits.apply(body);
}

} // namespace zoo::translate
