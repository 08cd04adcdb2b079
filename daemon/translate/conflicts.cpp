// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/conflicts.hpp"

#include "common/base/json_text.hpp"
#include "common/kube/status.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/own_selectors.hpp"
#include "daemon/translate/relay_form.hpp"
#include "daemon/translate/rewrite.hpp"
#include "daemon/translate/status_text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

namespace zoo::translate {
namespace {

constexpr std::string_view k_reason = "FieldManagerConflict";
constexpr std::string_view k_with = "conflict with ";
constexpr std::string_view k_labels = ".metadata.labels.";
constexpr std::string_view k_annotations = ".metadata.annotations.";

/// One cause of such a refusal (apimachinery pkg/util/managedfields/internal/conflict.go).
struct Conflict {
  std::string manager; ///< as upstream writes it: "x", or "x" using v1 where it did not apply
  std::string field;   ///< .webhooks[name="a.b.c"].namespaceSelector
  bool applied() const { return manager.find("\" using ") == std::string::npos; }
};

bool holds(JsonNode set, std::string_view above, std::string_view key) {
  return static_cast<bool>(set["f:metadata"][above]["f:" + std::string(key)]);
}

/// Does a manager of that name own the wish for another level of pod security?
bool owns_wish(JsonNode stored, std::string_view manager) {
  for (auto entry = stored["metadata"]["managedFields"].first(); entry; entry = entry.next()) {
    const auto name = json_quote(entry["manager"].string());
    if (manager.starts_with(name) && holds(entry["fieldsV1"], "f:labels", k_wish_label))
      return true;
  }
  return false;
}

/// The namespaceSelector of that path, where there is one: null else.
JsonNode selector_at(JsonNode stored, std::string_view field) {
  for (const auto& place : selector_places(stored)) {
    const auto path = place.webhook.empty()
                          ? std::string(".spec.matchConstraints.namespaceSelector")
                          : ".webhooks[name=" + json_quote(place.webhook) + "].namespaceSelector";
    if (field == path) return place.owner["namespaceSelector"];
  }
  return {};
}

/// The webhooks of an object, by their names, with the paths of their clientConfig.
std::vector<std::pair<std::string, std::string>> hook_paths(JsonNode stored) {
  std::vector<std::pair<std::string, std::string>> out;
  for (auto hook = stored["webhooks"].first(); hook; hook = hook.next()) {
    auto name = hook["name"].string();
    auto path = ".webhooks[name=" + json_quote(name) + "].clientConfig";
    out.emplace_back(std::move(name), std::move(path));
  }
  if (stored["spec"]["conversion"]["webhook"].is(JsonType::object))
    out.emplace_back("", ".spec.conversion.webhook.clientConfig");
  return out;
}

/// The address of the relay, where a tenant has a Service.
bool relays_address(std::string_view field, JsonNode stored) {
  for (const auto& [webhook, path] : hook_paths(stored)) {
    if (field != path + ".url" && field != path + ".caBundle") continue;
    if (stored["metadata"]["annotations"][held_annotation(Held::name, webhook)]) return true;
  }
  return false;
}

/// What an annotation of a webhook stands for; "": it is none.
std::string held_field(std::string_view field, JsonNode stored) {
  for (const auto& [webhook, path] : hook_paths(stored)) {
    for (const auto held : k_held) {
      if (field != fmt::format("{}{}", k_annotations, held_annotation(held, webhook))) continue;
      return fmt::format("{}{}.{}", path, held == Held::authority ? "" : ".service",
                         member_of(held));
    }
  }
  return {};
}

bool added_by_zood(const Conflict& conflict, JsonNode stored) {
  const std::string_view field = conflict.field;
  if (relays_address(field, stored)) return true;
  if (field.find(fmt::format("[name={}]", json_quote(k_fence_condition))) != std::string_view::npos)
    return true;
  if (field == fmt::format("{}{}", k_annotations, k_scopes_annotation)) return true; // of its rules
  if (field == fmt::format("{}{}", k_labels, k_tenant_label)) return true;
  if (field == fmt::format("{}{}", k_labels, k_enforce_label)) {
    const auto level = stored["metadata"]["labels"][k_enforce_label].string();
    return level == k_enforced_level && !owns_wish(stored, conflict.manager);
  }
  // Who creates or updates owns the default that upstream would have set.
  return conflict.applied() && is_bare(selector_at(stored, field));
}

/// A field as the tenant calls it, where zood stores it under another key.
std::string field_out(const Mapping& mapping, const Root& root, const std::string& field,
                      JsonNode stored) {
  if (auto held = held_field(field, stored); !held.empty()) return held;
  if (field == fmt::format("{}{}", k_annotations, k_aggregation_annotation))
    return ".aggregationRule.clusterRoleSelectors";
  if (field == fmt::format("{}{}", k_annotations, k_global_default_annotation))
    return ".globalDefault";
  if (field == fmt::format("{}{}", k_labels, k_wish_label))
    return fmt::format("{}{}", k_labels, k_enforce_label);
  const auto* metadata = root.object->step("metadata");
  if (metadata == nullptr) return field;
  for (const auto& [start, map] :
       std::array{std::pair(k_labels, "labels"), std::pair(k_annotations, "annotations")}) {
    const auto* node = metadata->step(map);
    if (!field.starts_with(start) || node == nullptr) continue;
    const Siblings none;
    const Site site{mapping, Direction::outward, root, none, map, ""};
    std::string output;
    if (act_on_key(node->key_action, site, field.substr(start.size()), output) == Fate::replace)
      return std::string(start) + output;
  }
  return field;
}

/// The value at a path as structured-merge-diff writes it, where elements of lists are told by
/// their names: .spec.containers[name="c"].env[name="N"].valueFrom.fieldRef
JsonNode value_at(JsonNode node, std::string_view path) {
  constexpr std::string_view k_named = "[name=\"";
  while (node && !path.empty()) {
    if (path.starts_with(k_named)) {
      const auto end = path.find("\"]", k_named.size());
      if (end == std::string_view::npos) return {};
      const auto name = path.substr(k_named.size(), end - k_named.size());
      for (node = node.first(); node && node["name"].string() != name;)
        node = node.next();
      path.remove_prefix(end + 2);
    } else if (path.front() == '.') {
      const auto end = std::min(path.find_first_of(".[", 1), path.size());
      node = node[path.substr(1, end - 1)];
      path.remove_prefix(end);
    } else {
      return {};
    }
  }
  return node;
}

bool same_value(JsonNode one, JsonNode other) { // bounded by the depth of the smaller one
  if (one.is(JsonType::string) && other.is(JsonType::string)) return one.string() == other.string();
  const bool object = one.is(JsonType::object) && other.is(JsonType::object);
  if (!object && !(one.is(JsonType::array) && other.is(JsonType::array)))
    return one && other && one.raw() == other.raw();
  const auto ones = one.children(), others = other.children();
  if (ones.size() != others.size()) return false;
  for (std::size_t i = 0; i < ones.size(); ++i) {
    if (!same_value(ones[i], object ? other[ones[i].key()] : others[i])) return false;
  }
  return true;
}

/// Of fields that upstream's policy for pods has changed.
class PodConflicts {
public:
  /// `applied` in JSON; `has`: what is stored, and `stored` the same as text.
  PodConflicts(const Mapping& mapping, const Root& root, std::string_view applied,
               std::string_view stored, JsonNode has)
      : has_(has) {
    if (root.kind != "Pod" || !root.group.empty()) return;
    RewriteContext outward{mapping, Direction::outward, {}};
    if (!rewrite(root, outward, stored, shown_)) return;
    if (auto tree = JsonTree::parse(applied)) wished_ = *std::move(tree);
    if (auto tree = JsonTree::parse(std::string_view(shown_))) seen_ = *std::move(tree);
  }
  PodConflicts(const PodConflicts&) = delete; // the trees are of texts in it
  PodConflicts& operator=(const PodConflicts&) = delete;
  /// Was this field applied as the tenant sees it, and not as it is stored?
  bool none(std::string_view field) const {
    if (!wished_ || !seen_) return false;
    const auto value = value_at(wished_->root(), field);
    return same_value(value, value_at(seen_->root(), field)) &&
           !same_value(value, value_at(has_, field));
  }

private:
  JsonNode has_;
  std::string shown_;
  std::optional<JsonTree> wished_, seen_; ///< of a pod
};

std::string refusal_of(std::vector<Conflict> conflicts) {
  std::string text;
  kube::StatusDetails details;
  for (const auto& each : conflicts)
    details.causes.push_back(
        {std::string(k_reason), std::string(k_with) + each.manager, each.field});
  if (conflicts.size() == 1) {
    text = fmt::format("Apply failed with 1 conflict: {}{}: {}", k_with, conflicts[0].manager,
                       conflicts[0].field);
  } else {
    std::vector<std::string> lines;
    std::stable_sort(conflicts.begin(), conflicts.end(),
                     [](const auto& a, const auto& b) { return a.manager < b.manager; });
    for (std::size_t i = 0; i < conflicts.size(); ++i) {
      if (i == 0 || conflicts[i].manager != conflicts[i - 1].manager)
        lines.push_back(fmt::format("conflicts with {}:", conflicts[i].manager));
      lines.push_back("- " + conflicts[i].field);
    }
    text =
        fmt::format("Apply failed with {} conflicts: {}", conflicts.size(), fmt::join(lines, "\n"));
  }
  return make_status(Code::conflict, text, details);
}

} // namespace

bool is_apply_conflict(std::string_view status) {
  return status.find(k_reason) != std::string_view::npos;
}

std::optional<std::string> judge_conflicts(const Mapping& mapping, const Root& root,
                                           std::string_view status, std::string_view applied,
                                           std::string_view stored) {
  const auto refusal = JsonTree::parse(status), object = JsonTree::parse(stored);
  if (!refusal || !object) return std::string(status);
  const PodConflicts pods(mapping, root, applied, stored, object->root());
  std::vector<Conflict> own;
  bool zoods = false, renamed = false;
  std::set<std::pair<std::string, std::string>> told; // manager and field
  for (auto cause = refusal->root()["details"]["causes"].first(); cause; cause = cause.next()) {
    const auto message = cause["message"].string();
    if (cause["reason"].string() != k_reason || !message.starts_with(k_with))
      return std::string(status);
    Conflict conflict{message.substr(k_with.size()), cause["field"].string()};
    if (added_by_zood(conflict, object->root()) || pods.none(conflict.field)) {
      zoods = true;
      continue;
    }
    auto shown = field_out(mapping, root, conflict.field, object->root());
    renamed = renamed || shown != conflict.field;
    conflict.field = std::move(shown);
    if (told.emplace(conflict.manager, conflict.field).second) own.push_back(std::move(conflict));
  }
  if (own.empty()) return zoods ? std::nullopt : std::optional(std::string(status));
  if (!zoods && !renamed) return std::string(status);
  return refusal_of(std::move(own));
}

} // namespace zoo::translate
