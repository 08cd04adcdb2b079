// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/rewrite_walk.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/inside.hpp"
#include "daemon/translate/json.hpp"
#include "daemon/translate/key_set.hpp"
#include "daemon/translate/structure.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace zoo::translate {
namespace {

std::string_view between(const char* from, const char* to) {
  return {from, static_cast<std::size_t>(to - from)};
}

bool is_null(const char* p, const char* end) { return end - p >= 4 && between(p, p + 4) == "null"; }

bool directive(std::string_view key) { return key.starts_with('$'); }

bool names_object(std::string_view key) { return key == "name" || key == "namespace"; }

/// "$setElementOrder/subjects" -> "subjects"
std::string_view directed(std::string_view key) {
  for (const std::string_view start : {"$setElementOrder/", "$deleteFromPrimitiveList/"}) {
    if (key.starts_with(start)) return key.substr(start.size());
  }
  return key;
}

} // namespace

Walker::Walker(const Root& root, RewriteContext& context, std::string_view document,
               std::string& out)
    : root_(root), context_(context), out_(out), begin_(document.data()),
      end_(document.data() + document.size()), copied_(begin_), full_(!context.patch),
      event_namespace_(context.request_namespace), told_(begin_), made_from_(out.size()) {}

Result<void> Walker::run() {
  if (context_.patch) {
    // An apply patch is a whole object; merge patches never name their kind.
    Siblings top;
    const Ptr p = skip_space(begin_, end_);
    if (p != end_ && *p == '{' && !collect(p, top)) return fail(*std::move(error_));
    full_ = !top.api_version.empty() && !top.kind.empty();
  }
  return run_at(*root_.object);
}

Result<void> Walker::run_at(const Node& node) {
  Ptr p = skip_space(begin_, end_);
  p = p == end_ ? not_json(p) : value(node, p, {}, {});
  if (p != nullptr && skip_space(p, end_) != end_) p = not_json(p);
  if (p == nullptr) return fail(*std::move(error_));
  if (!proving()) out_.append(copied_, end_);
  return {};
}

std::size_t Walker::run_open() {
  if (begin_ == end_) return 0;
  const Ptr p = value(*root_.object, begin_, {}, {});
  if (p == nullptr) return 0;
  out_.append(copied_, p);
  return static_cast<std::size_t>(p - begin_);
}

/// The size of the value at `p`, and the words in it.
Passed Walker::pass(Ptr p) const {
  const auto& prefix = context_.mapping.prefix();
  if (*p == '{' || *p == '[') {
    auto out = pass_nested(between(p + 1, end_), prefix);
    if (out.size != std::string_view::npos) ++out.size;
    return out;
  }
  const Ptr end = skip_value(p, end_);
  if (end == nullptr) return {std::string_view::npos, 0};
  return {static_cast<std::size_t>(end - p), words_in(between(p, end), prefix)};
}

/// What must occur below for a rule to do anything on this way. A proof walks everything, so that
/// what was passed over for its words is held by it; and the keys of a patch may stand within words
/// of their own
/// ("$setElementOrder/tolerations").
Words Walker::words_of(const Node& node) const {
  if (outward()) return node.words;
  return inward() && !context_.patch ? node.words_inward : k_all_words;
}

Walker::Ptr Walker::value(const Node& node, Ptr p, const Siblings& siblings, std::string_view key) {
  if (depth_ + 1 >= k_max_depth) {
    failure(Code::bad_request, "is nested too deeply");
    return nullptr;
  }
  if (const auto words = words_of(node); words != k_all_words) {
    // Most subtrees of most objects: their bytes are looked at as such, and nothing is walked.
    const auto passed = pass(p);
    if (passed.size == std::string_view::npos) return not_json(p);
    if ((passed.words & words) == 0) return p + passed.size;
  }
  if (node.action == Action::managed_fields) {
    return fields(*root_.object, p, siblings);
  }
  if (node.action == Action::embedded) return embedded(node, p);
  if (node.action == Action::last_applied) return last_applied(p);
  if (node.action == Action::authorities) return root_ca(p);
  const bool map = node.edge_count != 0 || node.value != nullptr ||
                   node.key_action != KeyAction::none || node.flags & Node::inject_label;
  switch (*p) {
  case '{':
    if (node.action == Action::namespace_source && outward()) {
      if (const Ptr end = source_out(p)) return end;
    }
    if (map) return object(node, p, siblings);
    break;
  case '[':
    if (node.element != nullptr) return array(node, p, siblings, key);
    break;
  case '"':
    if (node.action != Action::none) return leaf(node, p, siblings, key);
    break;
  default:
    if (is_null(p, end_)) return p + 4;
    break;
  }
  const Ptr end = skip_value(p, end_);
  if (end == nullptr) return not_json(p);
  // hide and refuse take any type, and nothing else may stand where a rule expects its own.
  if (node.action == Action::refuse && !outward()) {
    if (between(p, end) != "{}" && between(p, end) != "[]") failure(Code::forbidden, refusal(key));
  } else if (node.action != Action::hide &&
             (map || node.element != nullptr || node.action != Action::none) && !outward()) {
    failure(Code::bad_request, map                       ? "must be an object"
                               : node.element != nullptr ? "must be a list"
                                                         : "must be a string");
  }
  return error_ ? nullptr : end;
}

Walker::Ptr Walker::array(const Node& node, Ptr p, const Siblings& siblings, std::string_view key) {
  const bool entries = depth_ == 2 && steps_[1].key() == "managedFields" && !proving();
  const auto index = depth_++;
  steps_[index] = {nullptr, 0};
  bool first = true, end = false;
  if (entries) return entries_of(node, p, siblings, key);
  for (++p; next_element(p, first, end) && !end; first = false) {
    p = value(*node.element, p, siblings, key);
    if (p == nullptr) return nullptr;
    ++steps_[index].number;
  }
  --depth_;
  return error_ ? nullptr : p;
}

Walker::Ptr Walker::leaf(const Node& node, Ptr p, const Siblings& siblings, std::string_view key) {
  bool escaped = false;
  const Ptr end = skip_string(p, end_, &escaped);
  if (end == nullptr) return not_json(p);
  std::string storage, output;
  const auto text = escaped ? string_at(p, end, storage) : between(p + 1, end - 1);
  text_ = p;
  switch (act(node.action, node.parameter, site(siblings, key), text, output)) {
  case Fate::keep:
    break;
  case Fate::drop: // only members are dropped: member() sees to it before it comes here
    break;
  case Fate::replace:
    if (output != text) replace(p, end, json_quote(output));
    break;
  case Fate::foreign:
    if (context_.lenient) break;
    if (!settle(Fate::foreign, output)) return nullptr;
    replace(p, end, "\"\"");
    break;
  case Fate::refuse:
    settle(Fate::refuse, output);
    return nullptr;
  case Fate::invalid:
    settle(Fate::invalid, output);
    return nullptr;
  }
  return end;
}

Walker::Ptr Walker::embedded(const Node& node, Ptr p) {
  const Ptr end = skip_value(p, end_);
  if (end == nullptr) return not_json(p);
  if (*p != '"' || node.element == nullptr) return end;
  std::string storage, output;
  const auto text = string_at(p, end, storage);
  // What is no JSON is the tenant's own and means nothing upstream.
  if (!check_json(text)) return end;
  RewriteContext context{
      context_.mapping, context_.direction, context_.request_namespace, false, {}, {}, 0};
  Walker walker(root_, context, text, output);
  if (auto done = walker.run_at(*node.element); !done) {
    if (outward()) return end;
    error_ = std::move(done).error();
    return nullptr;
  }
  context_.foreign += context.foreign;
  if (!proving() && output != text) replace(p, end, json_quote(output));
  return end;
}

Walker::Ptr Walker::last_applied(Ptr p) {
  const Ptr end = skip_value(p, end_);
  if (end == nullptr) return not_json(p);
  if (*p != '"' || !outward() || context_.lenient) return end;
  std::string storage, output;
  const auto text = string_at(p, end, storage);
  // kubectl writes it in the tenant's names; only upstream puts the prefix there, and with it the
  // resourceVersion that a guarded apply carries as its precondition.
  const auto& prefix = context_.mapping.prefix();
  if (prefix.empty() || text.find(prefix) == std::string_view::npos || !check_json(text)) {
    return end;
  }
  RewriteContext context{context_.mapping, Direction::outward, context_.request_namespace};
  context.lenient = true;
  if (!rewrite(root_, context, text, output)) return end;
  if (const auto tree = JsonTree::parse(output)) {
    const auto metadata = tree->root()["metadata"];
    if (const auto version = metadata["resourceVersion"]) {
      JsonEdits edits;
      edits.remove(metadata, version);
      output = edits.apply(output);
    }
  }
  replace(p, end, json_quote(output));
  return end;
}

/// The data of a ConfigMap. Upstream writes metadata first, so that the name is known by now.
Walker::Ptr Walker::root_ca(Ptr p) {
  const auto* authorities = context_.mapping.root_ca();
  const bool shown = outward() && *p == '{' && authorities != nullptr && depth_ == 1 &&
                     context_.name == k_upstream_root_ca;
  if (!shown) {
    const Ptr end = skip_value(p, end_);
    return end == nullptr ? not_json(p) : end;
  }
  Member each;
  ++p;
  for (bool first = true; next_member(p, each, first) && each.begin != nullptr; first = false) {
    const Ptr end = skip_value(each.value, end_);
    if (end == nullptr) return not_json(each.value);
    if (each.key == k_root_ca_key) replace(each.value, end, json_quote(*authorities));
    p = end;
  }
  return error_ ? nullptr : p + 1;
}

bool Walker::settle(Fate fate, const std::string& output) {
  switch (fate) {
  case Fate::foreign:
    if (proving()) return failure(Code::forbidden, "holds a name outside the tenant");
    ++context_.foreign;
    return true;
  case Fate::refuse:
    return failure(Code::forbidden, output);
  case Fate::invalid:
    return failure(Code::invalid, output);
  default:
    return true;
  }
}

Walker::Ptr Walker::object(const Node& node, Ptr p, const Siblings& outer) {
  if ((node.flags & Node::siblings) == 0) return members(node, p, outer);
  Siblings own;
  return collect(p, own) ? members(node, p, own) : nullptr;
}

Walker::Ptr Walker::members(const Node& node, Ptr p, const Siblings& siblings) {
  Object here{node, siblings, ++p};
  if (node.key_action == KeyAction::namespace_labels && !inward()) {
    // The enforced level means something else where a wish stands beside it.
    Member each;
    Ptr ahead = p;
    for (bool first = true; next_member(ahead, each, first) && each.begin != nullptr;
         first = false) {
      const Ptr end = skip_value(each.value, end_);
      if (end == nullptr) return not_json(ahead);
      if (each.key == k_wish_label && *each.value == '"') {
        std::string storage;
        here.wish = string_at(each.value, end, storage);
      }
      ahead = end;
    }
    if (error_) return nullptr;
  }
  std::unique_ptr<KeySet> keys; // not within, since few objects need it
  const bool map = node.value != nullptr || node.key_action != KeyAction::none;

  const auto level = depth_++;
  const bool metadata = level == 1 && steps_[0].key() == "metadata";
  Member each;
  for (bool first = true; next_member(p, each, first); first = false) {
    if (each.begin == nullptr) break;
    const auto* edge = node.find(context_.patch ? directed(each.key) : each.key);
    const bool told = metadata && names_object(each.key); // member() tells whose it is
    if (edge == nullptr && !map && !told) {               // no rule
      keep(here, each);
      p = skip_value(each.value, end_);
      if (p == nullptr) return not_json(each.value);
      here.last = p;
      continue;
    }
    step_into(level, each.key);
    bool twice = false;
    if (edge != nullptr && !(context_.patch && directive(each.key))) {
      const auto bit = std::uint64_t{1} << (edge - node.edges);
      twice = (here.seen & bit) != 0;
      here.seen |= bit;
    } else if (map && !outward()) {
      if (!keys) keys = std::make_unique<KeySet>();
      twice = !keys->add(each.key, each.key.data() == each.begin + 1);
    }
    // What no way inward reads, upstream reads as it does.
    const bool read =
        edge == nullptr || edge->to == nullptr || edge->to->action != Action::authorities;
    if (twice && read && !outward()) {
      error_.emplace(Code::bad_request, "duplicate field " + json_quote(path()));
      return nullptr;
    }
    p = member(here, each);
    if (p == nullptr) return nullptr;
    here.last = p;
  }
  depth_ = level;
  if (error_) return nullptr;
  if (!inject(here)) return nullptr;
  return p + 1;
}

/// Walks one member, or leaves it out; answers the end of its value.
Walker::Ptr Walker::member(Object& object, Member& member) {
  const auto& node = object.node;
  const auto* edge = node.find(context_.patch ? directed(member.key) : member.key);
  const Node* to = edge != nullptr ? edge->to : node.value;
  std::optional<std::string> renamed;

  if (node.key_action != KeyAction::none && !(context_.patch && directive(member.key))) {
    if (node.key_action == KeyAction::namespace_labels &&
        (member.key == k_enforce_label || member.key == k_wish_label))
      return labels_member(object, member);
    bool dropped = false;
    const Ptr end = skip_value(member.value, end_);
    if (end == nullptr) return not_json(member.value);
    if (!key_action(object, member, end, renamed, dropped)) return nullptr;
    if (dropped) return end;
  } else if (to != nullptr && *member.value == '"' &&
             (to->action == Action::binding_namespace || to->action == Action::event_namespace)) {
    const Ptr end = skip_string(member.value, end_);
    if (end == nullptr) return not_json(member.value);
    std::string storage, output;
    const auto text = string_at(member.value, end, storage);
    if (!proving() && act(to->action, to->parameter, site(object.siblings, member.key), text,
                          output) == Fate::drop) {
      drop(member, end);
      return end;
    }
  } else if (to != nullptr && to->action == Action::hide && outward()) {
    const Ptr end = skip_value(member.value, end_);
    if (end == nullptr) return not_json(member.value);
    drop(member, end);
    return end;
  }
  // An object that holds nothing but what zood adds comes back as nothing.
  const bool may_vanish =
      to != nullptr && outward() && *member.value == '{' &&
      (to->key_action != KeyAction::none || (to->flags & Node::inject_label) != 0);
  const bool kept_before = object.kept;
  if (may_vanish) {
    const Ptr start = member.comma != nullptr ? member.comma : member.begin;
    replace(start, start, {});
  }
  const auto mark = out_.size();
  keep(object, member);
  if (renamed) replace(member.begin, member.key_end, json_quote(*renamed));
  // Who the object is, for the caller.
  if (depth_ == 2 && *member.value == '"' && names_object(member.key) &&
      steps_[0].key() == "metadata") {
    bool escaped = false;
    const Ptr end = skip_string(member.value, end_, &escaped);
    if (end == nullptr) return not_json(member.value);
    std::string storage;
    const auto text =
        escaped ? string_at(member.value, end, storage) : between(member.value + 1, end - 1);
    (member.key == "name" ? context_.name : context_.name_space) = text;
    if (member.key == "namespace" && event_namespace_.empty()) event_namespace_ = text;
  }
  if (to == nullptr) {
    const Ptr end = skip_value(member.value, end_);
    return end == nullptr ? not_json(member.value) : end;
  }
  if (edge != nullptr && edge->inject && is_null(member.value, end_)) {
    if (!wanted(object, *edge)) return member.value + 4;
    if (proving()) {
      failure(Code::forbidden, "must not be null");
      return nullptr;
    }
    if (inward() && full_) replace(member.value, member.value + 4, synthesize(*to));
    return member.value + 4;
  }
  const Ptr end = value(*to, member.value, object.siblings, member.key);
  if (end == nullptr || !may_vanish) return end;
  replace(end, end, {});
  const auto made = std::string_view(out_).substr(mark);
  const auto brace = made.rfind('{');
  if (brace != std::string_view::npos &&
      made.find_first_not_of(" \t\r\n", brace + 1) == made.size() - 1 &&
      holds_members(member.value)) {
    out_.resize(mark);
    object.kept = kept_before;
  }
  return end;
}

/// Is the object at `p` more than {}?
bool Walker::holds_members(Ptr p) const {
  p = skip_space(p + 1, end_);
  return p != end_ && *p != '}';
}

bool Walker::key_action(Object& object, const Member& member, Ptr value_end,
                        std::optional<std::string>& renamed, bool& dropped) {
  std::string output;
  const auto fate =
      act_on_key(object.node.key_action, site(object.siblings, member.key), member.key, output);
  switch (fate) {
  case Fate::keep:
    return true;
  case Fate::replace:
    if (output != member.key) renamed = std::move(output);
    return true;
  case Fate::foreign:
  case Fate::drop:
    if (fate == Fate::foreign && context_.lenient) break;
    if (fate == Fate::foreign && !settle(fate, output)) return false;
    dropped = true;
    if (proving() && member.key == k_tenant_label) {
      std::string storage;
      if (*member.value != '"' ||
          string_at(member.value, value_end, storage) != context_.mapping.id())
        return failure(Code::forbidden, "must be the tenant's own");
      object.labelled = true;
    }
    drop(member, value_end);
    return true;
  case Fate::refuse:
  case Fate::invalid:
    return settle(fate, output);
  }
  return true;
}

void Walker::keep(Object& object, const Member& member) {
  // The first one that stays needs no comma, though others stood in front of it.
  if (!object.kept && member.comma != nullptr) replace(member.comma, member.begin, {});
  object.kept = true;
}

void Walker::drop(const Member& member, Ptr end) {
  replace(member.comma != nullptr ? member.comma : member.begin, end, {});
}

bool Walker::next_member(Ptr& p, Member& out, bool first) {
  const auto wrong = [&] {
    not_json(p);
    return false;
  };
  out.begin = out.comma = nullptr;
  p = skip_space(p, end_);
  if (p == end_) return wrong();
  if (*p == '}') return true;
  if (!first) {
    if (*p != ',') return wrong();
    out.comma = p;
    p = skip_space(p + 1, end_);
  }
  if (p == end_ || *p != '"') return wrong();
  Ptr key_end = find_quote(p + 1, end_);
  if (key_end == end_) return wrong();
  bool escaped = false;
  if (*key_end == '"') {
    ++key_end;
  } else if (key_end = skip_string(p, end_, &escaped); key_end == nullptr) {
    return wrong();
  }
  out.begin = p;
  out.key_end = key_end;
  out.key = between(p + 1, key_end - 1);
  if (escaped) {
    out.unescaped = unescape_json(out.key);
    out.key = out.unescaped;
  }
  p = skip_space(key_end, end_);
  if (p == end_ || *p != ':') return wrong();
  p = skip_space(p + 1, end_);
  if (p == end_) return wrong();
  out.value = p;
  return true;
}

bool Walker::next_element(Ptr& p, bool first, bool& end) {
  p = skip_space(p, end_);
  if (p != end_ && *p == ']') {
    ++p;
    end = true;
    return true;
  }
  if (p != end_ && !first && *p == ',')
    p = skip_space(p + 1, end_);
  else if (!first)
    p = end_;
  if (p != end_) return true;
  not_json(p);
  return false;
}

/// Reads what decides the meaning of this object's members.
bool Walker::collect(Ptr p, Siblings& out) {
  unsigned seen = 0;
  Member each;
  ++p;
  for (bool first = true; next_member(p, each, first) && each.begin != nullptr; first = false) {
    const Ptr end = skip_value(each.value, end_);
    if (end == nullptr) {
      not_json(each.value);
      return false;
    }
    p = end;
    for (unsigned i = 0; i < k_sibling_keys.size(); ++i) {
      if (each.key != k_sibling_keys[i].key) continue;
      if ((seen >> i & 1U) != 0 && !outward()) {
        const auto above = path();
        error_.emplace(Code::bad_request,
                       "duplicate field " +
                           json_quote((above.empty() ? "" : above + '.') + std::string(each.key)));
        return false;
      }
      seen |= 1U << i;
      std::string storage;
      if (*each.value == '"') out.*(k_sibling_keys[i].to) = string_at(each.value, end, storage);
    }
  }
  return !error_;
}

std::string_view Walker::string_at(Ptr p, Ptr end, std::string& storage) const {
  const auto inner = between(p + 1, end - 1);
  if (inner.find('\\') == std::string_view::npos) return inner;
  storage = unescape_json(inner);
  return storage;
}

void Walker::replace(Ptr from, Ptr to, std::string_view text) {
  if (proving()) return;
  out_.append(copied_, from);
  out_.append(text);
  copied_ = to;
}

Walker::Ptr Walker::not_json(Ptr p) {
  if (!error_) {
    error_.emplace(inward() ? Code::bad_request : Code::internal,
                   fmt::format("the document is not JSON (at byte {})", p - begin_));
  }
  return nullptr;
}

bool Walker::failure(Code code, std::string_view what) {
  if (error_) return false;
  const auto where = path();
  error_.emplace(code, fmt::format("{} {}", where.empty() ? "the document" : where, what));
  return false;
}

std::string Walker::path() const {
  std::string out;
  for (std::size_t i = 0; i < depth_; ++i) {
    const auto key = steps_[i].key();
    if (steps_[i].text == nullptr) {
      out += fmt::format("[{}]", steps_[i].number);
    } else {
      const bool plain = key.find_first_of("./") == std::string_view::npos;
      out += plain ? (out.empty() ? "" : ".") + std::string(key) : '[' + json_quote(key) + ']';
    }
  }
  return out;
}

Site Walker::site(const Siblings& siblings, std::string_view key) {
  const bool own = depth_ == 2 && steps_[0].key() == "metadata";
  return {context_.mapping, context_.direction, root_, siblings, key, event_namespace_, this, own};
}

/// What stands in front of a text tells whose its words are: the names of an object, and those of
/// what an Event is about, come before its status or its message. Each piece is read once.
KnownWords& Walker::words() {
  if (!words_) words_ = std::make_unique<KnownWords>(context_.mapping.prefix());
  if (text_ == nullptr || text_ <= told_) return *words_;
  words_->upstream(between(told_, text_));
  told_ = text_;
  // The output is out_ and, behind it, what will be copied.
  const auto made = out_.size() - std::min(made_from_, out_.size());
  const auto pending = copied_ < text_ ? between(copied_, text_) : std::string_view();
  const auto from = told_of_out_;
  told_of_out_ = made + pending.size();
  if (from < made) words_->shown(std::string_view(out_).substr(made_from_ + from));
  const auto skipped = from > made ? std::min(from - made, pending.size()) : 0;
  words_->shown(pending.substr(skipped));
  return *words_;
}

} // namespace zoo::translate
