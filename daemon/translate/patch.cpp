// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/patch.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "daemon/translate/actions.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json_patch.hpp"
#include "daemon/translate/json_pointer.hpp"
#include "daemon/translate/rewrite.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace zoo::translate {
namespace {

/// What the rewriter may add to a map beside the tenant's own members.
bool injected(std::string_view key) {
  return key == k_tenant_label || key.starts_with("zoo.kubezoo.io/");
}

/// Labels and annotations that zood keeps on the tenant's objects: added, or held back there.
bool reserved(std::string_view key) {
  return injected(key) || key.starts_with("kept.zoo.kubezoo.io/");
}

Result<void> check_reserved(const std::vector<std::string>& path) {
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    if ((path[i] == "labels" || path[i] == "annotations") && reserved(path[i + 1]))
      return fail(Code::forbidden, "{} {}", json_quote(path[i + 1]), k_reserved);
  }
  return {};
}

/// A number is an index where the table has a list, and where it has nothing to say.
bool index(const Node* node, std::string_view segment) {
  return is_index(segment) && (node == nullptr || node->element != nullptr);
}

const Node* step(const Node* node, std::string_view segment) {
  if (node == nullptr) return nullptr;
  return node->step(index(node, segment) ? std::string_view("[]") : segment);
}

/// What became of one place of a document.
struct Placed {
  Segments path;
  std::string value;
};

/// The values of such an object mean something else with another key beside them.
struct Asked {
  Segments path; ///< of the object; empty: nothing is known
  std::string member, value;

  bool holds(const Segments& within) const {
    return !path.empty() && within.size() > path.size() &&
           std::equal(path.begin(), path.end(), within.begin());
  }
};

/// The member that tells what the values beside it are; "": there is none.
std::string_view telling_member(const Node* object) {
  if (object == nullptr) return {};
  for (const auto& edge : object->members()) {
    const auto* element = edge.to->element;
    if (element == nullptr) continue;
    if (element->action == Action::selector_values) return "key";
    if (element->action == Action::quota_scope) return "scopeName";
  }
  return {};
}

class JsonPatch {
public:
  JsonPatch(const Root& root, const Mapping& mapping, std::string_view name_space)
      : root_(root), mapping_(mapping), name_space_(name_space) {}

  Result<std::string> run(std::string_view body);

private:
  /// Rewrites `value` at `path` within a document that holds nothing else, and finds it again.
  /// nullopt: the rewriter left the place out.
  Result<std::optional<Placed>> place(const Segments& path, std::string_view value) const;
  /// The path alone.
  Result<std::optional<Segments>> place_path(const Segments& path) const;
  Result<void> check_transfer(const Segments& from, const Segments& path,
                              std::string_view op) const;
  /// Where a path ends in the rule table, and whether no key on the way is one that is translated.
  struct Position {
    const Node* node;
    bool plain_keys;
  };
  Position position(const Segments& path) const;
  Result<std::optional<std::string>> operation(JsonNode node);
  Result<void> note_key(JsonNode node, std::string_view op, const Segments& path);

  const Root& root_;
  const Mapping& mapping_;
  std::string_view name_space_;
  Asked asked_; ///< what the operations before have told of the object that this one is within
};

Result<std::optional<Placed>> JsonPatch::place(const Segments& path, std::string_view value) const {
  std::string open, close;
  std::vector<bool> array(path.size());
  const auto* node_rules = root_.object;
  for (std::size_t i = 0; i < path.size(); ++i) {
    array[i] = index(node_rules, path[i]);
    node_rules = step(node_rules, path[i]);
    if (array[i]) {
      open += '[';
      close += ']';
    } else {
      open += '{';
      // In front, so that what is placed is found behind it by its name.
      if (i == asked_.path.size() && asked_.holds(path) && path[i] != asked_.member)
        open += json_quote(asked_.member) + ':' + json_quote(asked_.value) + ',';
      open += json_quote(path[i]) + ':';
      close += '}';
    }
  }
  std::reverse(close.begin(), close.end());
  std::string document = open;
  document += value;
  document += close;

  RewriteContext context{mapping_, Direction::inward, name_space_, !path.empty(), {}, {}, 0};
  std::string out;
  ZOO_TRY_VOID(rewrite(root_, context, document, out));
  ZOO_TRY(const auto tree, JsonTree::parse(out));
  auto node = tree.root();
  Placed placed;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (array[i]) {
      node = node.first();
      placed.path.push_back(path[i]);
    } else {
      // The rewriter adds members only behind those that were there; a key that it translated is
      // therefore the first.
      const auto same = node[path[i]];
      node = same ? same : node.first();
      if (!node) return std::nullopt;
      auto key = node.key();
      if (!same && injected(key)) return std::nullopt; // ours; the tenant's was left out
      placed.path.push_back(std::move(key));
    }
    if (!node) return std::nullopt;
  }
  placed.value = node.raw();
  return placed;
}

Result<std::optional<Segments>> JsonPatch::place_path(const Segments& path) const {
  auto named = path;
  Segments indexes;
  while (!named.empty() && is_index(named.back())) {
    indexes.insert(indexes.begin(), named.back());
    named.pop_back();
  }
  if (named.empty()) return std::optional(path);
  ZOO_TRY(auto placed, place(named, "null"));
  if (!placed) return std::nullopt;
  auto out = std::move(placed->path);
  out.insert(out.end(), indexes.begin(), indexes.end());
  return std::optional(std::move(out));
}

JsonPatch::Position JsonPatch::position(const Segments& path) const {
  Position out{root_.object, true};
  for (const auto& segment : path) {
    if (out.node != nullptr && out.node->key_action != KeyAction::none &&
        out.node->key_action != KeyAction::annotations &&
        out.node->key_action != KeyAction::definition_labels)
      out.plain_keys = false;
    out.node = step(out.node, segment);
  }
  return out;
}

tl::unexpected<Error> untranslatable(const Segments& from, const Segments& path,
                                     std::string_view op) {
  return fail(Code::invalid,
              "JSON patch {} from {} to {} cannot be translated: the two places may have different "
              "rules; send the value with \"add\" or \"replace\"",
              op, json_quote(format_pointer(from)), json_quote(format_pointer(path)));
}

Result<void> JsonPatch::check_transfer(const Segments& from, const Segments& path,
                                       std::string_view op) const {
  const bool same =
      from.size() == path.size() && std::equal(from.begin(), from.end(), path.begin(),
                                               [](const std::string& a, const std::string& b) {
                                                 return a == b || (is_index(a) && is_index(b));
                                               });
  const auto source = position(from);
  const auto to = position(path);
  // Values of one selector are none of another, whose key may be different.
  const Node* object = root_.object;
  bool within = true; // the same objects so far
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!within && !telling_member(object).empty()) return untranslatable(from, path, op);
    within = within && i < from.size() && from[i] == path[i];
    object = step(object, path[i]);
  }
  // Equal subtrees of the automaton are one node; no node is no rule at all. What zood keeps in a
  // map under keys of its own was refused before.
  if (same || (source.node == to.node && source.plain_keys && to.plain_keys)) return {};
  return untranslatable(from, path, op);
}

/// A key that is tested or set says what the values beside it are, for the operations behind it.
/// One that is changed makes others of the values that are there, which no translation of the patch
/// can do: they have to be given too.
Result<void> JsonPatch::note_key(JsonNode node, std::string_view op, const Segments& path) {
  const auto told = std::exchange(asked_, {});
  if (path.empty()) return {};
  auto above = path;
  above.pop_back();
  const auto member = telling_member(position(above).node);
  if (member.empty() || path.back() != member) {
    if (told.holds(path) && path[told.path.size()] == "values") asked_ = told;
    return {};
  }
  if (op == "test" || op == "add" || op == "replace")
    asked_ = {above, path.back(), node["value"].string()};
  if (op == "test") return {};
  const auto behind = node.next();
  auto values = above;
  values.emplace_back("values");
  if ((op == "add" || op == "replace") && behind["path"].string() == format_pointer(values)) {
    const auto next = behind["op"].string();
    if (next == "add" || next == "replace" || next == "remove") return {};
  }
  return fail(Code::invalid,
              "JSON patch {} of {} cannot be translated without the values beside it: replace the "
              "whole element, or {} directly behind it",
              op, json_quote(format_pointer(path)), json_quote(format_pointer(values)));
}

Result<std::optional<std::string>> JsonPatch::operation(JsonNode node) {
  if (!node.is(JsonType::object))
    return fail(Code::bad_request, "a JSON patch is a list of operations (RFC 6902)");
  std::set<std::string> keys;
  for (auto member = node.first(); member; member = member.next()) {
    if (!keys.insert(member.key()).second)
      return fail(Code::bad_request, "duplicate field {} in a JSON patch operation",
                  json_quote(member.key()));
  }
  const auto op = node["op"].string();
  const auto value = node["value"];
  if (!node["path"].is(JsonType::string))
    return fail(Code::bad_request, "a JSON patch operation has no path");
  ZOO_TRY(const auto path, parse_pointer(node["path"].string()));
  const auto written = [&](const Segments& to, std::string_view more) {
    return fmt::format("{{\"op\":{},\"path\":{}{}}}", json_quote(op),
                       json_quote(format_pointer(to)), more);
  };

  ZOO_TRY_VOID(check_reserved(path));
  ZOO_TRY_VOID(note_key(node, op, path));

  // The tenant's object has nothing at such a place, and needs no more there.
  if (const auto* rules = position(path).node;
      rules != nullptr && rules->action == Action::binding_namespace) {
    if (op == "add" || (op == "test" && (!value || value.is(JsonType::null)))) return std::nullopt;
    return fail(Code::invalid, "JSON patch {} of {}: there is nothing at this place", op,
                json_quote(format_pointer(path)));
  }

  if (op == "add" || op == "replace" || op == "test") {
    // RFC 6902 demands a value; the server reads a missing one as null.
    ZOO_TRY(const auto placed,
            value.is(JsonType::null) ? [&]() -> Result<std::optional<Placed>> {
              ZOO_TRY(auto to, place_path(path));
              if (!to) return std::nullopt;
              return std::optional(Placed{std::move(*to), "null"});
            }()
                                     : place(path, value.raw()));
    if (!placed) {
      if (op != "test") return std::nullopt;
      return fail(Code::invalid, "JSON patch test of {} cannot be translated",
                  json_quote(format_pointer(path)));
    }
    return std::optional(written(placed->path, ",\"value\":" + placed->value));
  }
  if (op == "remove") {
    ZOO_TRY(const auto to, place_path(path));
    if (!to) return std::nullopt;
    return std::optional(written(*to, ""));
  }
  if (op == "copy" || op == "move") {
    if (!node["from"].is(JsonType::string))
      return fail(Code::bad_request, "a JSON patch {} has no from", op);
    ZOO_TRY(const auto from, parse_pointer(node["from"].string()));
    ZOO_TRY_VOID(check_reserved(from));
    ZOO_TRY_VOID(check_transfer(from, path, op));
    ZOO_TRY(const auto source, place_path(from));
    ZOO_TRY(const auto to, place_path(path));
    if (!source || !to)
      return fail(Code::invalid, "JSON patch {} cannot be translated: one end is not the tenant's",
                  op);
    return std::optional(written(*to, ",\"from\":" + json_quote(format_pointer(*source))));
  }
  return fail(Code::bad_request, "unknown JSON patch operation {}", json_quote(op));
}

Result<std::string> JsonPatch::run(std::string_view body) {
  ZOO_TRY(const auto tree, JsonTree::parse(body));
  const auto list = tree.root();
  if (!list.is(JsonType::array))
    return fail(Code::bad_request, "a JSON patch is a list of operations (RFC 6902)");
  std::string out = "[";
  std::size_t count = 0;
  for (auto node = list.first(); node; node = node.next()) {
    if (++count > k_max_operations)
      return fail(Code::too_large, "The allowed maximum operations in a JSON patch is {}, got more",
                  k_max_operations);
    ZOO_TRY(const auto operation_text, operation(node));
    if (!operation_text) continue;
    if (out.size() > 1) out += ',';
    out += *operation_text;
  }
  return out + ']';
}

/// A JSON patch that does nothing unless the object has that.
Result<std::string> with_test(JsonNode root, std::string_view body, std::string_view path,
                              std::string_view value) {
  if (!root.is(JsonType::array))
    return fail(Code::bad_request, "a JSON patch is a list of operations (RFC 6902)");
  auto test =
      fmt::format("{{\"op\":\"test\",\"path\":\"{}\",\"value\":{}}}", path, json_quote(value));
  if (root.first()) test += ',';
  JsonEdits edits;
  edits.replace(root.begin() + 1, root.begin() + 1, std::move(test));
  return edits.apply(body);
}

} // namespace

Result<std::string> patch_in(const Root& root, const Mapping& mapping, BodyFormat format,
                             std::string_view body, std::string_view request_namespace, bool lean,
                             const Relay* relay) {
  if (format == BodyFormat::json_patch) {
    if (mapping.identity()) {
      ZOO_TRY_VOID(JsonTree::parse(body));
      return std::string(body);
    }
    return JsonPatch(root, mapping, request_namespace).run(body);
  }
  ZOO_TRY(const auto tree, JsonTree::parse(body));
  if (!tree.root().is(JsonType::object))
    return fail(Code::bad_request, "the patch is not a JSON object");
  RewriteContext context{mapping, Direction::inward, request_namespace, true, {}, {}, 0};
  context.lean = lean;
  context.relay = relay;
  std::string out;
  out.reserve(body.size() + 256);
  ZOO_TRY_VOID(rewrite(root, context, body, out));
  return out;
}

Result<std::string> with_resource_version(BodyFormat format, std::string_view body,
                                          std::string_view resource_version) {
  ZOO_TRY(const auto tree, JsonTree::parse(body));
  const auto root = tree.root();
  if (format == BodyFormat::json_patch)
    return with_test(root, body, "/metadata/resourceVersion", resource_version);
  if (!root.is(JsonType::object)) return fail(Code::bad_request, "the patch is not a JSON object");
  JsonEdits edits;
  const auto metadata = root["metadata"];
  if (!metadata) {
    edits.append(root, "metadata", "{\"resourceVersion\":" + json_quote(resource_version) + "}");
    return edits.apply(body);
  }
  if (!metadata.is(JsonType::object))
    return fail(Code::invalid, "metadata: Invalid value: must be an object");
  const auto own = metadata["resourceVersion"];
  if (!own) {
    edits.append(metadata, "resourceVersion", json_quote(resource_version));
  } else if (own.is(JsonType::null) || own.string().empty()) {
    edits.quote(own, resource_version);
  } else if (own.string() != resource_version) {
    return fail(Code::conflict,
                "the object has been modified; please apply your changes to the latest version and "
                "try again");
  }
  return edits.apply(body);
}

Result<std::string> with_uid(BodyFormat format, std::string_view body, std::string_view uid) {
  if (uid.empty()) return fail(Code::internal, "the upstream's object has no UID");
  ZOO_TRY(const auto tree, JsonTree::parse(body));
  const auto root = tree.root();
  if (format == BodyFormat::json_patch) return with_test(root, body, "/metadata/uid", uid);
  ZOO_TRY_VOID(members_once(root));
  JsonEdits edits;
  const auto metadata = root["metadata"];
  if (!metadata && root.is(JsonType::object)) {
    edits.append(root, "metadata", "{\"uid\":" + json_quote(uid) + "}");
  } else if (metadata.is(JsonType::null)) {
    edits.replace(metadata, "{\"uid\":" + json_quote(uid) + "}");
  } else if (metadata.is(JsonType::object)) {
    const auto given = metadata["uid"];
    if (!given) {
      edits.append(metadata, "uid", json_quote(uid));
    } else if (given.string().empty()) {
      edits.quote(given, uid);
    }
  }
  return edits.apply(body);
}

} // namespace zoo::translate
