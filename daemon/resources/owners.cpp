// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/owners.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace zoo::resources {
namespace {

using nlohmann::json;

constexpr std::array k_metadata_lists{
    ListRule{"metadata", "finalizers", ""},
    ListRule{"metadata", "ownerReferences", "uid"},
};

const ListRule* list_rule(const FieldPath& path, ListRules lists) {
  if (path.size() != 2) return nullptr;
  for (const auto rules : {ListRules(k_metadata_lists), lists})
    for (const auto& each : rules)
      if (path[0].substr(2) == each.parent && path[1].substr(2) == each.list) return &each;
  return nullptr;
}

/// What the server writes itself, and what names the object.
bool nobodys(const FieldPath& path) {
  static constexpr std::array<std::string_view, 11> k_metadata{
      "name",          "generateName",      "namespace",
      "uid",           "resourceVersion",   "creationTimestamp",
      "generation",    "deletionTimestamp", "deletionGracePeriodSeconds",
      "managedFields", "selfLink"};
  if (path.size() == 1) return path[0] == "f:apiVersion" || path[0] == "f:kind";
  return path.size() == 2 && path[0] == "f:metadata" &&
         std::find(k_metadata.begin(), k_metadata.end(), path[1].substr(2)) != k_metadata.end();
}

std::string element_key(const ListRule& rule, const json& element) {
  json key = json::object();
  const auto found = element.is_object() ? element.find(rule.key) : element.end();
  key[std::string(rule.key)] =
      element.is_object() && found != element.end() ? *found : json(nullptr);
  return "k:" + key.dump();
}

/// Each field that somebody can own, in order, while `leaf` says so.
template <class Leaf>
bool each_leaf(const json& value, FieldPath& path, ListRules lists, const Leaf& leaf) {
  if (nobodys(path)) return true;
  bool goes_on = true;
  if (value.is_object() && !value.empty()) {
    for (auto member = value.begin(); goes_on && member != value.end(); ++member) {
      path.push_back("f:" + member.key());
      goes_on = each_leaf(*member, path, lists, leaf);
      path.pop_back();
    }
    return goes_on;
  }
  const auto* rule = value.is_array() ? list_rule(path, lists) : nullptr;
  if (rule == nullptr) return path.empty() || leaf(path, value);
  for (auto element = value.begin(); goes_on && element != value.end(); ++element) {
    if (rule->key.empty()) {
      path.push_back("v:" + element->dump());
      goes_on = leaf(path, *element);
    } else {
      path.push_back(element_key(*rule, *element));
      goes_on = each_leaf(*element, path, lists, leaf);
    }
    path.pop_back();
  }
  return goes_on;
}

void parse(const json& fields, FieldPath& path, FieldSet& out) {
  if (!fields.is_object() || fields.empty()) {
    if (!path.empty()) out.insert(path);
    return;
  }
  for (const auto& [name, member] : fields.items()) {
    if (name == ".") {
      if (fields.size() == 1 && !path.empty()) out.insert(path);
      continue;
    }
    path.push_back(name);
    parse(member, path, out);
    path.pop_back();
  }
}

/// The element of a list that `step` ("k:..." or "v:...") names, made if `make`; null: none.
json* element_of(json& list, const std::string& step, bool make) {
  if (!list.is_array()) {
    if (!make) return nullptr;
    list = json::array();
  }
  const auto wanted = json::parse(step.substr(2), nullptr, false);
  if (step.starts_with("v:")) {
    const auto found = std::find(list.begin(), list.end(), wanted);
    if (found != list.end()) return &*found;
    if (!make) return nullptr;
    list.push_back(wanted);
    return &list.back();
  }
  if (!wanted.is_object() || wanted.empty()) return nullptr;
  const auto& key = wanted.begin().key();
  for (auto& element : list)
    if (element.is_object() && element.value(key, json()) == wanted.begin().value())
      return &element;
  if (!make) return nullptr;
  list.push_back(wanted);
  return &list.back();
}

std::string text(const FieldPath& path) {
  std::string out;
  for (const auto& step : path)
    out += step.starts_with("f:") ? "." + step.substr(2) : "[" + step.substr(2) + "]";
  return out;
}

bool entry_is(const json& entry, const Writer& writer, std::string_view operation) {
  return entry.is_object() && entry.value("manager", "") == writer.manager &&
         entry.value("operation", "") == operation &&
         entry.value("apiVersion", "") == writer.api_version &&
         (entry.value("subresource", "") == "status") == writer.status;
}

json entry_of(const Writer& writer, std::string_view operation, const FieldSet& fields) {
  json out{{"manager", writer.manager},        {"operation", operation},
           {"apiVersion", writer.api_version}, {"time", writer.time},
           {"fieldsType", "FieldsV1"},         {"fieldsV1", fields_v1(fields)}};
  if (writer.status) out["subresource"] = "status";
  return out;
}

json entries_of(const json& object) {
  if (!object.is_object() || !object.contains("metadata")) return json::array();
  auto out = object["metadata"].value("managedFields", json::array());
  return out.is_array() ? out : json::array();
}

/// Takes `lost` from every entry but the one at `keep`; entries without fields go.
json without(const json& entries, const FieldSet& lost, const Writer& writer,
             std::string_view operation) {
  json out = json::array();
  for (const auto& entry : entries) {
    if (!entry.is_object()) continue;
    if (entry_is(entry, writer, operation)) continue; // written anew
    auto fields = parse_fields_v1(entry.value("fieldsV1", json::object()));
    const auto before = fields.size();
    std::erase_if(fields, [&](const FieldPath& path) { return lost.contains(path); });
    if (fields.empty()) continue;
    auto kept = entry;
    if (fields.size() != before) kept["fieldsV1"] = fields_v1(fields);
    out.push_back(std::move(kept));
  }
  return out;
}

/// Always in the same order, so that what changes nothing is equal.
json ordered(json entries) {
  const auto key = [](const json& entry) {
    return std::array{entry.value("operation", ""), entry.value("manager", ""),
                      entry.value("subresource", ""), entry.value("apiVersion", "")};
  };
  std::sort(entries.begin(), entries.end(),
            [&](const json& a, const json& b) { return key(a) < key(b); });
  return entries;
}

FieldSet owned_by(const json& entries, const Writer& writer, std::string_view operation) {
  for (const auto& entry : entries)
    if (entry_is(entry, writer, operation))
      return parse_fields_v1(entry.value("fieldsV1", json::object()));
  return {};
}

Result<json> merge(const json& original, const json& patch, FieldPath& path, ListRules lists);

Result<json> merge_list(const json& original, const json& patch, FieldPath& path, ListRules lists) {
  const auto* rule = list_rule(path, lists);
  if (rule == nullptr) return patch;
  json out = original.is_array() ? original : json::array();
  for (const auto& element : patch) {
    if (rule->key.empty()) {
      if (std::find(out.begin(), out.end(), element) == out.end()) out.push_back(element);
      continue;
    }
    const auto directive = element.is_object() ? element.value("$patch", "") : std::string();
    if (directive == "replace") {
      out = json::array();
      continue;
    }
    if (!element.is_object() || !element.contains(rule->key))
      return fail(Code::bad_request, "map: {} does not contain declared merge key: {}",
                  element.dump(), rule->key);
    auto* found = element_of(out, element_key(*rule, element), directive != "delete");
    if (directive == "delete") {
      if (found != nullptr) out.erase(out.begin() + (found - &out.front()));
      continue;
    }
    path.push_back(element_key(*rule, element));
    auto merged = merge(*found, element, path, lists);
    path.pop_back();
    if (!merged) return merged;
    *found = *std::move(merged);
  }
  return out;
}

Result<json> merge(const json& original, const json& patch, FieldPath& path, ListRules lists) {
  if (patch.is_array()) return merge_list(original, patch, path, lists);
  if (!patch.is_object()) return patch;
  json out = original.is_object() ? original : json::object();
  const auto directive = patch.find("$patch");
  if (directive != patch.end()) {
    if (*directive == "delete") return json(nullptr);
    if (*directive != "replace" && *directive != "merge")
      return fail(Code::bad_request, "unknown $patch directive {}", directive->dump());
    if (*directive == "replace") out = json::object();
  }
  if (const auto retained = patch.find("$retainKeys"); retained != patch.end()) {
    json kept = json::object();
    for (const auto& key : *retained)
      if (key.is_string() && out.contains(key.get_ref<const std::string&>()))
        kept[key.get_ref<const std::string&>()] = out[key.get_ref<const std::string&>()];
    out = std::move(kept);
  }
  constexpr std::string_view k_delete = "$deleteFromPrimitiveList/";
  for (const auto& [name, value] : patch.items()) {
    if (name.starts_with(k_delete) && value.is_array()) {
      auto& list = out[name.substr(k_delete.size())];
      if (!list.is_array()) continue;
      const std::set<json> gone(value.begin(), value.end());
      list.erase(std::remove_if(list.begin(), list.end(),
                                [&](const json& each) { return gone.contains(each); }),
                 list.end());
      continue;
    }
    if (name.starts_with("$")) continue; // directives, and the order of elements
    if (value.is_null()) {
      out.erase(name);
      continue;
    }
    path.push_back("f:" + name);
    auto merged = merge(out.contains(name) ? out[name] : json(), value, path, lists);
    path.pop_back();
    if (!merged) return merged;
    if (merged->is_null()) {
      out.erase(name);
    } else {
      out[name] = *std::move(merged);
    }
  }
  return out;
}

} // namespace

Result<void> check_lists(const json& object, ListRules lists) {
  if (!object.is_object()) return {};
  for (const auto rules : {ListRules(k_metadata_lists), lists}) {
    for (const auto& rule : rules) {
      const auto parent = object.find(rule.parent);
      if (parent == object.end() || !parent->is_object()) continue;
      const auto list = parent->find(rule.list);
      if (list == parent->end() || list->size() <= k_max_elements) continue;
      return fail(Code::invalid, "{}.{}: Too many: {}: must have at most {} items", rule.parent,
                  rule.list, list->size(), k_max_elements);
    }
  }
  return {};
}

Result<void> check_fields(const json& object, ListRules lists) {
  std::size_t bytes = 0;
  FieldPath path;
  const bool fits = each_leaf(object, path, lists, [&bytes](const FieldPath& leaf, const json&) {
    for (const auto& step : leaf)
      bytes += sizeof(step) + step.size();
    return bytes <= k_max_field_bytes;
  });
  if (fits) return {};
  return fail(Code::too_large,
              "the names of the object's fields, each with those it is in, have more than {} bytes",
              k_max_field_bytes);
}

Leaves leaves_of(const json& object, bool status, ListRules lists) {
  Leaves out;
  if (!object.is_object()) return out;
  FieldPath path;
  for (const auto& [name, value] : object.items()) {
    if ((name == "status") != status) continue;
    path.assign(1, "f:" + name);
    each_leaf(value, path, lists, [&out](const FieldPath& leaf, const json& held) {
      out[leaf] = held;
      return true;
    });
  }
  return out;
}

json fields_v1(const FieldSet& fields) {
  json out = json::object();
  for (const auto& path : fields) {
    json* at = &out;
    for (const auto& step : path) {
      at = &(*at)[step];
      if (at->is_null()) *at = json::object();
    }
  }
  return out;
}

FieldSet parse_fields_v1(const json& fields) {
  FieldSet out;
  FieldPath path;
  parse(fields, path, out);
  return out;
}

void put_field(json& object, const FieldPath& path, const json& value) {
  json* at = &object;
  for (const auto& step : path) {
    if (step.starts_with("f:")) {
      if (!at->is_object()) *at = json::object();
      at = &(*at)[step.substr(2)];
    } else {
      at = element_of(*at, step, true);
      if (at == nullptr) return;
    }
  }
  *at = value;
}

void remove_field(json& object, const FieldPath& path) {
  if (path.empty()) return;
  json* at = &object;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i].starts_with("f:")) {
      if (!at->is_object() || !at->contains(path[i].substr(2))) return;
      at = &(*at)[path[i].substr(2)];
    } else {
      at = element_of(*at, path[i], false);
      if (at == nullptr) return;
    }
  }
  const auto& last = path.back();
  if (last.starts_with("f:")) {
    if (at->is_object()) at->erase(last.substr(2));
  } else if (auto* element = element_of(*at, last, false)) {
    at->erase(at->begin() + (element - &at->front()));
  }
}

void own_update(const json& old, json& now, const Writer& writer) {
  const auto before = leaves_of(old, writer.status, writer.lists);
  const auto after = leaves_of(now, writer.status, writer.lists);
  FieldSet changed, gone;
  for (const auto& [path, value] : after) {
    const auto found = before.find(path);
    if (found == before.end() || found->second != value) changed.insert(path);
  }
  for (const auto& [path, value] : before)
    if (!after.contains(path)) gone.insert(path);
  const auto entries = entries_of(old);
  auto own = owned_by(entries, writer, "Update");
  own.insert(changed.begin(), changed.end());
  std::erase_if(own, [&](const FieldPath& path) { return gone.contains(path); });
  FieldSet lost = changed;
  lost.insert(gone.begin(), gone.end());
  if (lost.empty()) {
    now["metadata"]["managedFields"] = entries;
    return;
  }
  auto kept = without(entries, lost, writer, "Update");
  if (!own.empty()) kept.push_back(entry_of(writer, "Update", own));
  now["metadata"]["managedFields"] = ordered(std::move(kept));
}

namespace {

/// Does one of `fields` begin as `path` does, or is it `path`?
bool has_within(const FieldSet& fields, const FieldPath& path) {
  const auto at = fields.lower_bound(path);
  return at != fields.end() && at->size() >= path.size() &&
         std::equal(path.begin(), path.end(), at->begin());
}

/// What goes with a field that nobody wants any more: the field, or the whole element of a keyed
/// list if nobody wants anything of it. Nothing where a part of it is somebody's.
std::optional<FieldPath> leaving(const FieldPath& field, const FieldSet& wanted,
                                 const FieldSet& others) {
  const auto is_somebodys = [&](const FieldPath& path) {
    return has_within(wanted, path) || has_within(others, path);
  };
  for (auto step = field.begin(); step != field.end(); ++step) {
    if (!step->starts_with("k:")) continue;
    FieldPath element(field.begin(), step + 1);
    if (!is_somebodys(element)) return element;
  }
  if (is_somebodys(field)) return std::nullopt;
  return field;
}

/// Is there an object at `path`? An empty one that is applied takes nothing from it.
bool is_object_at(const json& object, const FieldPath& path) {
  const json* at = &object;
  for (const auto& step : path) {
    if (!step.starts_with("f:") || !at->is_object()) return false;
    const auto found = at->find(step.substr(2));
    if (found == at->end()) return false;
    at = &*found;
  }
  return at->is_object();
}

} // namespace

Result<json> apply(const json& live, const json& config, const Writer& writer, bool force) {
  const auto wanted = leaves_of(config, writer.status, writer.lists);
  const auto present = leaves_of(live, writer.status, writer.lists);
  const auto entries = entries_of(live);
  const auto previous = owned_by(entries, writer, "Apply");
  FieldSet others, wanted_set, taken;
  std::vector<std::string> conflicts;
  for (const auto& entry : entries) {
    if (entry_is(entry, writer, "Apply")) continue;
    const auto fields = parse_fields_v1(entry.value("fieldsV1", json::object()));
    others.insert(fields.begin(), fields.end());
    for (const auto& path : fields) {
      const auto asked = wanted.find(path);
      const auto found = present.find(path);
      if (asked == wanted.end() || found == present.end() || found->second == asked->second)
        continue;
      taken.insert(path);
      conflicts.push_back(fmt::format("conflict with \"{}\" using {}: {}",
                                      entry.value("manager", ""), entry.value("apiVersion", ""),
                                      text(path)));
    }
  }
  if (!conflicts.empty() && !force) {
    return fail(Code::conflict, "Apply failed with {} conflict{}: {}", conflicts.size(),
                conflicts.size() == 1 ? "" : "s", fmt::join(conflicts, "; "));
  }
  json out = live.is_object() ? live : config;
  for (const auto& [path, value] : wanted) {
    wanted_set.insert(path);
    const bool empty = value.is_object() && value.empty();
    if (!empty || !is_object_at(out, path)) put_field(out, path, value);
  }
  for (const auto& path : previous)
    if (const auto goes = leaving(path, wanted_set, others)) remove_field(out, *goes);
  auto kept = without(entries, taken, writer, "Apply");
  if (!wanted_set.empty()) kept.push_back(entry_of(writer, "Apply", wanted_set));
  // An apply that changes nothing leaves the time of the last one.
  for (auto& entry : kept)
    if (entry_is(entry, writer, "Apply"))
      for (const auto& old : entries)
        if (entry_is(old, writer, "Apply") && old.value("fieldsV1", json()) == entry["fieldsV1"])
          entry["time"] = old.value("time", writer.time);
  out["metadata"]["managedFields"] = ordered(std::move(kept));
  return out;
}

Result<json> strategic_merge(const json& object, const json& patch, ListRules lists) {
  if (!patch.is_object())
    return fail(Code::bad_request, "a strategic merge patch is a JSON object");
  FieldPath path;
  ZOO_TRY(auto out, merge(object, patch, path, lists));
  if (!out.is_object()) return fail(Code::bad_request, "the patch deletes the whole object");
  return out;
}

} // namespace zoo::resources
