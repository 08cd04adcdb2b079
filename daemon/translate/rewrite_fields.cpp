// SPDX-License-Identifier: Apache-2.0
// managedFields: a tree of the object's own positions (structured-merge-diff, fieldpath/serialize):
// f:<key> a member, k:{...} and v:... an element. Keys are translated, and what zood adds to an
// object is left out in both directions: upstream counts it among the fields of whoever sent the
// request that brought it, but nobody of the tenant's has set it (docs/decisions/168). Nothing is
// refused, since a client sends back what it has read.
#include "common/base/json_text.hpp"
#include "daemon/translate/admission_fence.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/own_selectors.hpp"
#include "daemon/translate/rewrite_walk.hpp"

namespace zoo::translate {
namespace {

/// Of places where the rule table has nothing to say.
constexpr Node k_no_rules{};

} // namespace

/// array() of metadata.managedFields: a manager of no field is none, as upstream has it.
Walker::Ptr Walker::entries_of(const Node& node, Ptr p, const Siblings& siblings,
                               std::string_view key) {
  const auto index = depth_ - 1;
  bool kept = false, end = false;
  Ptr from = ++p; // behind the element before
  for (bool first = true; next_element(p, first, end) && !end; first = false) {
    replace(from, from, {});
    const auto mark = out_.size();
    if (!kept && !first) replace(from, p, {}); // the comma
    entry_gone_ = false;
    p = value(*node.element, p, siblings, key);
    if (p == nullptr) return nullptr;
    if (entry_gone_) {
      out_.resize(mark);
      copied_ = p;
    } else {
      kept = true;
    }
    from = p;
    ++steps_[index].number;
  }
  entry_gone_ = false;
  --depth_;
  return error_ ? nullptr : p;
}

Walker::Ptr Walker::fields(const Node& node, Ptr p, const Siblings& siblings) {
  if (*p != '{' || proving()) {
    const Ptr end = skip_value(p, end_);
    return end == nullptr ? not_json(p) : end;
  }
  if (outward() && root_.form == Form::admission && !bare_) read_bare_selectors();
  replace(p, p, {});
  const auto mark = out_.size();
  bool gone = false;
  const Ptr end = fields_of(node, p, siblings, gone);
  if (end != nullptr && gone) {
    entry_gone_ = true;
    out_.resize(mark);
    out_ += "{}";
    copied_ = end;
  }
  return end;
}

/// Is the field `key` ("f:...", "k:...") zood's own addition? The walk stands at it.
bool Walker::adds_field(const Node& node, std::string_view key, const Siblings& entry) const {
  if (node.key_action == KeyAction::namespace_labels && key.starts_with("f:")) {
    if (key.substr(2) == k_enforce_label) return outward() && level_ != k_restricted;
    if (key.substr(2) == k_wish_label) return inward() || level_ == k_restricted;
  }
  if (root_.form != Form::admission) return false;
  if (key == k_fence_field) return true;
  // A selector of nothing but the tenant's label is the default, which upstream gives to who
  // creates or updates, and to nobody who applies.
  return key == "f:namespaceSelector" && outward() && entry.operation == "Apply" && depth_ > 1 &&
         bare_ && bare_->contains(steps_[depth_ - 2].key());
}

/// `gone`: zood's own were left out, and nothing is left but the object itself (".").
Walker::Ptr Walker::fields_of(const Node& node, Ptr p, const Siblings& siblings, bool& gone) {
  if (depth_ + 1 >= k_max_depth) return skip_value(p, end_);
  Object here{node, siblings, ++p};
  Member each;
  bool cut = false, others = false;
  ++depth_;
  for (bool first = true; next_member(p, each, first) && each.begin != nullptr; first = false) {
    step_into(depth_ - 1, each.key);
    const Node* to = nullptr;
    Fate fate = Fate::keep;
    std::string output;
    const bool member = each.key.starts_with("f:");
    const auto name = each.key.substr(member ? 2 : 0);
    if (member) {
      const auto* edge = node.find(name);
      to = edge != nullptr ? edge->to : node.value;
      fate = act_on_key(node.key_action, site(siblings, name), name, output);
      if (fate == Fate::replace && output == name) fate = Fate::keep;
    } else if (each.key.starts_with("k:") || each.key.starts_with("v:")) {
      to = node.element;
    }
    const bool level = member && node.key_action == KeyAction::namespace_labels &&
                       (name == k_enforce_label || name == k_wish_label);
    bool drops = adds_field(node, each.key, siblings);
    if (level && !drops) {
      fate = name == k_wish_label ? Fate::replace : Fate::keep;
      output = k_enforce_label;
    }
    drops =
        drops || (outward() ? fate == Fate::drop || fate == Fate::foreign : fate == Fate::refuse);
    if (drops) {
      p = skip_value(each.value, end_);
      if (p == nullptr) return not_json(each.value);
      drop(each, p);
      cut = true;
      continue;
    }
    const bool conditions = root_.form == Form::admission && each.key == "f:matchConditions";
    const bool deeper =
        *each.value == '{' && ((to != nullptr && (to->flags & Node::has_keys) != 0) || conditions);
    const bool kept_before = here.kept;
    const Ptr start = each.comma != nullptr ? each.comma : each.begin;
    if (deeper) replace(start, start, {});
    const auto mark = out_.size();
    keep(here, each);
    if (fate == Fate::replace) replace(each.begin, each.key_end, json_quote("f:" + output));
    // Whoever sets a level that is not enforced owns both labels.
    if (level && inward() && level_ != k_restricted)
      replace(each.begin, each.begin, json_quote("f:" + std::string(k_wish_label)) + ":{},");
    bool emptied = false;
    p = deeper ? fields_of(to == nullptr ? k_no_rules : *to, each.value, siblings, emptied)
               : skip_value(each.value, end_);
    if (p == nullptr) return not_json(each.value); // not_json() keeps an earlier error
    if (emptied) {
      out_.resize(mark);
      copied_ = p;
      here.kept = kept_before;
      cut = true;
    } else if (each.key != ".") {
      others = true;
    }
  }
  --depth_;
  gone = cut && !others;
  return error_ ? nullptr : p + 1;
}

/// Which selectors hold nothing but the tenant's label, by the key of what stands around them.
void Walker::read_bare_selectors() {
  bare_.emplace();
  const auto tree =
      JsonTree::parse(std::string_view(begin_, static_cast<std::size_t>(end_ - begin_)));
  if (!tree) return;
  for (const auto& place : selector_places(tree->root())) {
    if (is_bare(place.owner["namespaceSelector"])) bare_->insert(place.field);
  }
}

} // namespace zoo::translate
