// SPDX-License-Identifier: Apache-2.0
// What an object carries upstream and its tenant never sees: the tenant's label, the level of pod
// security, the members that a rule asks for, and what a pod reads its namespace from.
#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/pod_fields.hpp"
#include "daemon/translate/rewrite_walk.hpp"

namespace zoo::translate {

/// The source of a projected volume at `p`, if it is one that upstream's policy has made; else
/// null.
Walker::Ptr Walker::source_out(Ptr p) {
  const Ptr end = skip_value(p, end_);
  if (end == nullptr) return nullptr;
  const auto tree = JsonTree::parse(std::string_view(p, static_cast<std::size_t>(end - p)));
  const auto shown = tree ? namespace_source(tree->root()) : std::nullopt;
  if (!shown) return nullptr;
  replace(p, end, *shown);
  return end;
}

/// The level of pod security that is enforced, and the tenant's wish beside it (DESIGN 8).
Walker::Ptr Walker::labels_member(Object& object, Member& member) {
  const Ptr end = skip_value(member.value, end_);
  if (end == nullptr) return not_json(member.value);
  std::string storage;
  const auto level = *member.value == '"' ? string_at(member.value, end, storage) : "";
  if (member.key == k_wish_label) {
    if (inward()) {
      failure(Code::forbidden, k_reserved);
      return nullptr;
    }
    drop(member, end);
    return end;
  }
  if (inward()) {
    keep(object, member);
    object.enforce = true;
    object.wish = level;
    level_ = level;
    if (level != k_restricted) replace(member.value, end, json_quote(k_enforced_level));
    return end;
  }
  if (proving()) {
    object.enforce = level == k_enforced_level || level == k_restricted;
    if (!object.enforce) failure(Code::forbidden, "must be baseline or restricted");
    return error_ ? nullptr : end;
  }
  level_ = level;
  if (level == k_enforced_level && object.wish.empty()) {
    drop(member, end);
    return end;
  }
  keep(object, member);
  if (level == k_enforced_level) replace(member.value, end, json_quote(object.wish));
  return end;
}

std::string Walker::tenant_labels(const Object* object) const {
  const auto quoted = [](std::string_view key, std::string_view text) {
    return json_quote(key) + ':' + json_quote(text);
  };
  std::string out = quoted(k_tenant_label, context_.mapping.id());
  if (object != nullptr && object->node.key_action != KeyAction::namespace_labels) return out;
  const bool enforce = object != nullptr && object->enforce;
  if (full_ && !enforce && !context_.lean) out += ',' + quoted(k_enforce_label, k_enforced_level);
  if (enforce && !object->wish.empty() && object->wish != k_restricted)
    return out + ',' + quoted(k_wish_label, object->wish);
  if (enforce && !full_) out += ',' + json_quote(k_wish_label) + ":null";
  return out;
}

std::string Walker::synthesize(const Node& node) const {
  switch (node.action) {
  case Action::binding_namespace:
    return json_quote(context_.mapping.name_in("kube-system"));
  case Action::event_namespace:
    return json_quote(context_.mapping.name_in(event_namespace_));
  case Action::inert_namespace:
    return json_quote(context_.mapping.inert_in(event_namespace_));
  case Action::rule_scope:
    return "\"Namespaced\"";
  default:
    break;
  }
  if ((node.flags & Node::inject_label) != 0) {
    Siblings none;
    const Object empty{node, none};
    return '{' + tenant_labels(&empty) + '}';
  }
  std::string out = "{";
  for (const auto& edge : node.members()) {
    if (!edge.inject) continue;
    if (out.size() > 1) out += ',';
    out += json_quote(edge.key) + ':' + synthesize(*edge.to);
  }
  return out + '}';
}

void Walker::append_member(Object& object, std::string_view key, std::string_view value) {
  replace(object.last, object.last,
          (object.kept ? "," : "") + json_quote(key) + ':' + std::string(value));
  object.kept = true;
}

/// Does this object need that injected member? Some do by what they are about only.
bool Walker::wanted(const Object& object, const Edge& edge) const {
  if (edge.to->action == Action::event_namespace)
    return full_ && !proving() && !event_namespace_.empty() &&
           fills_event_namespace(object.siblings);
  if (edge.to->action == Action::inert_namespace)
    return object.siblings.kind == "ServiceAccount" && (proving() || !event_namespace_.empty());
  return true;
}

/// May another manager have set what an applied object does not name here? What else is added
/// stands in lists and selectors that are owned as a whole, or has one value for ever.
bool Walker::may_be_anothers(std::string_view key) const {
  return root_.form == Form::admission && (key == "namespaceSelector" || key == "matchConstraints");
}

/// Adds what must stand upstream; in a proof, sees that it does.
bool Walker::inject(Object& object) {
  const auto& node = object.node;
  if (context_.direction == Direction::outward) return true;
  for (std::size_t i = 0; i < node.edge_count; ++i) {
    const auto& edge = node.edges[i];
    if (!edge.inject || (object.seen >> i & 1U) != 0) continue;
    if (!wanted(object, edge)) continue;
    if (proving()) {
      step_into(depth_, edge.key);
      ++depth_;
      failure(Code::forbidden, "is missing");
      --depth_;
      return false;
    }
    // A patch of some members: what it does not speak of stays as it is upstream.
    if (!full_ && depth_ <= 1) continue;
    if (context_.lean && may_be_anothers(edge.key)) continue;
    append_member(object, edge.key, synthesize(*edge.to));
  }
  if ((node.flags & Node::inject_label) == 0) return true;
  if (proving()) return check_labels(object);
  replace(object.last, object.last, (object.kept ? "," : "") + tenant_labels(&object));
  object.kept = true;
  return true;
}

bool Walker::check_labels(const Object& object) {
  if (!object.labelled) return failure(Code::forbidden, "does not carry the tenant's label");
  if (object.node.key_action == KeyAction::namespace_labels && !object.enforce)
    return failure(Code::forbidden, "does not enforce pod security");
  return true;
}

} // namespace zoo::translate
