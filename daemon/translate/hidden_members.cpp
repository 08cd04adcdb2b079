// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/hidden_members.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/pod_fields.hpp"
#include "daemon/translate/rules.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace zoo::translate {
namespace {

constexpr std::array<std::string_view, 2> k_maps = {"labels", "annotations"};
constexpr std::string_view k_patch_directive = "$patch", k_retain_directive = "$retainKeys";
constexpr std::string_view k_wishes = "kept.zoo.kubezoo.io/"; ///< a tenant's own, held back

/// Members of one map: keys, and values in JSON.
using KeptMembers = std::vector<std::pair<std::string, std::string>>;

/// What is upstream of one map of metadata.
struct StoredMap {
  KeptMembers hidden; ///< from the tenant
  std::vector<std::string> shown;
  /// In place of a member that the tenant takes away: what is enforced without it.
  KeptMembers instead;
};

KeyAction keys_of(const Root& root, std::string_view map) {
  const auto* metadata = root.object->step("metadata");
  const auto* node = metadata == nullptr ? nullptr : metadata->step(map);
  return node == nullptr ? KeyAction::none : node->key_action;
}

StoredMap read_map(const Root& root, const Mapping& mapping, std::string_view map,
                   JsonNode stored) {
  StoredMap out;
  const auto action = keys_of(root, map);
  const Siblings none;
  for (auto each = stored["metadata"][map].first(); each; each = each.next()) {
    auto key = each.key();
    std::string output;
    const Site site{mapping, Direction::outward, root, none, key, {}};
    const auto fate = act_on_key(action, site, key, output);
    bool hides = (fate == Fate::drop || fate == Fate::foreign) && !key.starts_with(k_wishes);
    if (action == KeyAction::namespace_labels && key == k_enforce_label) {
      const bool wished = static_cast<bool>(stored["metadata"][map][k_wish_label]);
      hides = each.string() == k_enforced_level && !wished;
      if (!hides) {
        out.instead.emplace_back(std::move(key), json_quote(k_enforced_level));
        continue;
      }
    }
    if (hides) {
      out.hidden.emplace_back(std::move(key), each.raw());
    } else {
      out.shown.push_back(std::move(key));
    }
  }
  return out;
}

std::string object_of(const KeptMembers& members) {
  std::string out = "{";
  for (const auto& [key, value] : members)
    out += (out.size() > 1 ? "," : "") + json_quote(key) + ':' + value;
  return out + '}';
}

KeptMembers put_back(const StoredMap& stored) {
  auto out = stored.hidden;
  out.insert(out.end(), stored.instead.begin(), stored.instead.end());
  return out;
}

/// Adds the members that `object` lacks to its edits.
void add_missing(JsonEdits& edits, JsonNode object, const KeptMembers& members) {
  for (const auto& [key, value] : members) {
    if (!object[key]) edits.append(object, key, value);
  }
}

/// The same of a map of metadata, which may be missing, too.
void complete_map(JsonEdits& edits, JsonNode metadata, std::string_view map,
                  const KeptMembers& members) {
  if (members.empty() || !metadata.is(JsonType::object)) return;
  const auto there = metadata[map];
  if (there.is(JsonType::object)) {
    add_missing(edits, there, members);
  } else if (!there) {
    edits.append(metadata, map, object_of(members));
  } else if (there.is(JsonType::null)) {
    edits.replace(there, object_of(members));
  }
}

// ---- merge and strategic patches

/// Is all of this replaced or deleted, and not merged?
bool replaces(JsonNode node) {
  const auto directive = node[k_patch_directive].string();
  return node.is(JsonType::null) || directive == "replace" || directive == "delete";
}

/// Also, does a directive name the members that stay?
bool whole(JsonNode node) { return replaces(node) || static_cast<bool>(node[k_retain_directive]); }

bool lists(JsonNode list, std::string_view name) {
  const auto names = list.strings();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Each member of a map that is shown and not retained, by its name, as what is taken away.
KeptMembers taken_away(const StoredMap& stored, JsonNode retained) {
  KeptMembers out;
  for (const auto& each : stored.instead) {
    if (!lists(retained, each.first)) out.push_back(each);
  }
  for (const auto& key : stored.shown) {
    if (!lists(retained, key)) out.emplace_back(key, "null");
  }
  return out;
}

/// A map that `asked` takes away or replaces: each member that is shown, by its name.
void spell_out(JsonEdits& edits, JsonNode metadata, std::string_view map, JsonNode asked,
               const StoredMap& stored) {
  const auto there = metadata[map], retained = there[k_retain_directive];
  const auto gone = taken_away(stored, retained);
  if (there.is(JsonType::object)) {
    const auto directive = there[k_patch_directive];
    if (directive.string() == "delete") return edits.replace(there, object_of(gone));
    for (const auto each : {directive, retained})
      if (each) edits.remove(there, each);
    add_missing(edits, there, gone);
  } else if (there.is(JsonType::null) && asked.is(JsonType::null)) {
    edits.replace(there, object_of(gone));
  }
}

Result<std::string> merge_with_hidden(const Root& root, const Mapping& mapping,
                                      std::string_view asked, const std::string& patch,
                                      JsonNode stored) {
  ZOO_TRY(const auto wished, JsonTree::parse(asked));
  ZOO_TRY(const auto made, JsonTree::parse(patch));
  const auto metadata = made.root()["metadata"], tenants = wished.root()["metadata"];
  const bool replaced = replaces(wished.root()) || replaces(tenants);
  const auto retained = metadata[k_retain_directive];
  auto stay = std::string(retained.raw()); // a list, with the maps that it lacks
  JsonEdits edits;
  for (const auto map : k_maps) {
    const auto has = read_map(root, mapping, map, stored);
    if (put_back(has).empty()) continue;
    if (replaced) {
      complete_map(edits, metadata, map, put_back(has));
    } else if (retained.is(JsonType::array) && !metadata[map] && !lists(retained, map)) {
      edits.append(metadata, map, object_of(taken_away(has, {})));
      stay.replace(stay.size() - 1, 1,
                   (stay.find('"') == std::string::npos ? "" : ",") + json_quote(map) + ']');
    } else if (tenants[map] && whole(tenants[map])) {
      spell_out(edits, metadata, map, tenants[map], has);
    }
  }
  if (stay != retained.raw()) edits.replace(retained, stay);
  return edits.apply(patch);
}

// ---- JSON patches

/// The part of metadata that a pointer of RFC 6901 is about: none of these need an escape.
std::string_view whole_place(std::string_view pointer) {
  for (const std::string_view each : {"/metadata/labels", "/metadata/annotations"}) {
    if (pointer == each) return each.substr(std::string_view("/metadata/").size());
  }
  return pointer.empty() || pointer == "/metadata" ? "metadata" : "";
}

class SparingPatch {
public:
  /// `text`: the patch that the operations are nodes of.
  SparingPatch(const Root& root, const Mapping& mapping, std::string_view text, JsonNode stored)
      : text_(text) {
    for (std::size_t i = 0; i < k_maps.size(); ++i)
      stored_[i] = read_map(root, mapping, k_maps[i], stored);
  }

  std::string operation(JsonNode node) const {
    const auto op = node["op"].string(), pointer = node["path"].string();
    const auto place = whole_place(pointer);
    if (place.empty() || op == "copy" || op == "move") return std::string(node.raw());
    if (place != "metadata") return on_map(node, op, pointer, place);
    const auto value = node["value"];
    const auto metadata = pointer.empty() ? value["metadata"] : value;
    if ((op != "add" && op != "replace") || !metadata.is(JsonType::object))
      return std::string(node.raw());
    JsonEdits edits;
    for (std::size_t i = 0; i < k_maps.size(); ++i)
      complete_map(edits, metadata, k_maps[i], put_back(stored_[i]));
    return applied(edits, node);
  }

private:
  std::string applied(const JsonEdits& edits, JsonNode node) const {
    return edits.apply(text_, node.begin(), node.end());
  }

  std::string on_map(JsonNode node, std::string_view op, std::string_view pointer,
                     std::string_view map) const {
    const auto& has = stored_[map == k_maps[0] ? 0 : 1];
    const auto value = node["value"];
    const auto back = op == "test" ? has.hidden : put_back(has);
    if (back.empty()) return std::string(node.raw());
    if (op == "remove") {
      return std::string(node.raw()) + fmt::format(R"(,{{"op":"add","path":{},"value":{}}})",
                                                   json_quote(pointer), object_of(back));
    }
    JsonEdits edits;
    if (value.is(JsonType::object)) {
      add_missing(edits, value, back);
    } else if (value.is(JsonType::null)) {
      edits.replace(value, object_of(back));
    } else if (!value) {
      edits.append(node, "value", object_of(back));
    }
    return applied(edits, node);
  }

  std::string_view text_;
  std::array<StoredMap, k_maps.size()> stored_;
};

Result<std::string> operations_with_hidden(const Root& root, const Mapping& mapping,
                                           const std::string& patch, JsonNode stored) {
  ZOO_TRY(const auto tree, JsonTree::parse(patch));
  const SparingPatch sparing(root, mapping, patch, stored);
  std::string out = "[";
  for (auto node = tree.root().first(); node; node = node.next()) {
    if (out.size() > 1) out += ',';
    out += sparing.operation(node);
  }
  return out + ']';
}

} // namespace

bool may_hold_hidden(const Root& root, std::string_view subresource, std::string_view body) {
  if (!root.group.empty()) return false;
  if (root.kind == "Namespace") return true;
  if (root.kind != "Pod") return false;
  // These keep the metadata as it is (k8s.io/kubernetes pkg/registry/core/pod/strategy.go).
  if (subresource == "ephemeralcontainers" || subresource == "resize") return false;
  if (!subresource.empty()) return true;
  const auto tree = JsonTree::parse(body);
  return tree && reads_namespace(tree->root());
}

bool patches_whole_maps(BodyFormat format, std::string_view body) {
  if (format == BodyFormat::apply_patch) return false;
  const auto tree = JsonTree::parse(body);
  if (!tree) return false;
  if (format != BodyFormat::json_patch) {
    const auto metadata = tree->root()["metadata"];
    if (replaces(tree->root()) || whole(metadata)) return true;
    for (const auto map : k_maps) {
      if (metadata[map] && whole(metadata[map])) return true;
    }
    return false;
  }
  for (auto node = tree->root().first(); node; node = node.next()) {
    if (node["path"].is(JsonType::string) && !whole_place(node["path"].string()).empty())
      return true;
  }
  return false;
}

Result<std::string> with_hidden(const Root& root, const Mapping& mapping, std::string document,
                                std::string_view stored) {
  ZOO_TRY(const auto has, JsonTree::parse(stored));
  ZOO_TRY(const auto tree, JsonTree::parse(document));
  JsonEdits edits;
  for (const auto map : k_maps)
    complete_map(edits, tree.root()["metadata"], map,
                 read_map(root, mapping, map, has.root()).hidden);
  return edits.empty() ? std::move(document) : edits.apply(document);
}

Result<std::string> patch_with_hidden(const Root& root, const Mapping& mapping, BodyFormat format,
                                      std::string_view asked, std::string patch,
                                      std::string_view stored) {
  ZOO_TRY(const auto has, JsonTree::parse(stored));
  return format == BodyFormat::json_patch
             ? operations_with_hidden(root, mapping, patch, has.root())
             : merge_with_hidden(root, mapping, asked, patch, has.root());
}

} // namespace zoo::translate
