// SPDX-License-Identifier: Apache-2.0
// managedFields: a tree of the object's own positions (structured-merge-diff, fieldpath/serialize):
// f:<key> a member, k:{...} and v:... an element. Only keys are translated; nothing is refused,
// since a client sends back what it has read.
#include "common/base/json_text.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/rewrite_walk.hpp"

namespace zoo::translate {

Walker::Ptr Walker::fields(const Node& node, Ptr p, const Siblings& siblings) {
  if (*p == '{' && !proving()) return fields_of(node, p, siblings);
  const Ptr end = skip_value(p, end_);
  return end == nullptr ? not_json(p) : end;
}

Walker::Ptr Walker::fields_of(const Node& node, Ptr p, const Siblings& siblings) {
  if (depth_ + 1 >= k_max_depth) return skip_value(p, end_);
  Object here{node, siblings, ++p};
  Member each;
  ++depth_;
  for (bool first = true; next_member(p, each, first) && each.begin != nullptr; first = false) {
    step_into(depth_ - 1, each.key);
    const Node* to = nullptr;
    Fate fate = Fate::keep;
    std::string output;
    if (each.key.starts_with("f:")) {
      const auto name = each.key.substr(2);
      const auto* edge = node.find(name);
      to = edge != nullptr ? edge->to : node.value;
      fate = act_on_key(node.key_action, site(siblings, name), name, output);
      if (fate == Fate::replace && output == name) fate = Fate::keep;
    } else if (each.key.starts_with("k:") || each.key.starts_with("v:")) {
      to = node.element;
    }
    if ((fate == Fate::drop || fate == Fate::foreign) && outward()) {
      p = skip_value(each.value, end_);
      if (p == nullptr) return not_json(each.value);
      drop(each, p);
      continue;
    }
    keep(here, each);
    if (fate == Fate::replace) replace(each.begin, each.key_end, json_quote("f:" + output));
    const bool deeper = to != nullptr && (to->flags & Node::has_keys) != 0 && *each.value == '{';
    p = deeper ? fields_of(*to, each.value, siblings) : skip_value(each.value, end_);
    if (p == nullptr) return not_json(each.value); // not_json() keeps an earlier error
  }
  --depth_;
  return error_ ? nullptr : p + 1;
}

} // namespace zoo::translate
