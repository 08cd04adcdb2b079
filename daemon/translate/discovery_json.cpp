// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/discovery_json.hpp"

#include "common/base/json_text.hpp"
#include "daemon/translate/json.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

namespace zoo::translate {
namespace {

constexpr std::size_t k_max_depth = 10'000;

bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && space(text[at]))
    ++at;
  return at;
}

/// Offset behind the string that begins at `at`, npos if it does not end or an escape is wrong.
std::size_t check_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') return at + 1;
    if (static_cast<unsigned char>(c) < 0x20) return std::string_view::npos;
    if (c != '\\') continue;
    if (++at >= text.size()) return std::string_view::npos;
    if (text[at] == 'u') {
      for (int i = 0; i < 4; ++i) {
        if (++at >= text.size() || hex_value(text[at]) < 0) return std::string_view::npos;
      }
    } else if (std::string_view("\"\\/bfnrt").find(text[at]) == std::string_view::npos) {
      return std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

std::size_t check_number(std::string_view text, std::size_t at) {
  const auto digits = [&] {
    const auto from = at;
    while (at < text.size() && digit(text[at]))
      ++at;
    return at > from;
  };
  if (at < text.size() && text[at] == '-') ++at;
  if (at < text.size() && text[at] == '0') {
    ++at;
  } else if (!digits()) {
    return std::string_view::npos;
  }
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return std::string_view::npos;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!digits()) return std::string_view::npos;
  }
  return at;
}

} // namespace

std::string json_unquote(std::string_view quoted) {
  return quoted.size() < 2 ? std::string() : unescape_json(quoted.substr(1, quoted.size() - 2));
}

std::size_t json_skip(std::string_view text, std::size_t at) {
  at = skip_space(text, at);
  if (at >= text.size()) return std::string_view::npos;
  std::size_t depth = 0;
  for (; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
      }
      if (at >= text.size()) return std::string_view::npos;
      ++at;
      if (depth == 0) return at;
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return std::string_view::npos;
      ++at;
      if (--depth == 0) return at;
    } else if (depth > 0) {
      ++at;
    } else {
      const auto from = at;
      while (at < text.size() && !space(text[at]) && text[at] != ',' && text[at] != '}' &&
             text[at] != ']')
        ++at;
      return at > from ? at : std::string_view::npos;
    }
  }
  return std::string_view::npos;
}

Result<JsonTree> JsonTree::parse(std::string_view text) {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    return fail(Code::too_large, "the JSON text is longer than 4 GiB");
  if (!is_utf8(text)) return fail(Code::bad_request, "the JSON text is not valid UTF-8");
  JsonTree tree;
  tree.text_ = text;
  struct Open {
    std::uint32_t item, last;
  };
  std::vector<Open> stack;
  std::size_t at = 0;
  const auto bad = [&](std::string_view wanted) {
    if (at >= text.size())
      return fail(Code::bad_request, "the JSON text ends too early: expected {}", wanted);
    return fail(Code::bad_request, "invalid JSON at offset {}: expected {}", at, wanted);
  };
  std::uint32_t key_begin = 0, key_end = 0;
  for (;;) {
    // A value.
    at = skip_space(text, at);
    if (at >= text.size()) return bad("a value");
    const auto index = static_cast<std::uint32_t>(tree.items_.size());
    Item item;
    item.begin = static_cast<std::uint32_t>(at);
    item.key_begin = key_begin;
    item.key_end = key_end;
    const char c = text[at];
    bool opened = false;
    const auto word = [&](std::string_view name, JsonType type) {
      if (text.substr(at, name.size()) != name) return false;
      item.type = type;
      at += name.size();
      return true;
    };
    if (c == '{' || c == '[') {
      item.type = c == '{' ? JsonType::object : JsonType::array;
      opened = true;
      ++at;
    } else if (c == '"') {
      item.type = JsonType::string;
      const auto end = check_string(text, at);
      if (end == std::string_view::npos) return bad("a well-formed string");
      at = end;
    } else if (c == '-' || digit(c)) {
      item.type = JsonType::number;
      const auto end = check_number(text, at);
      if (end == std::string_view::npos) return bad("a number");
      at = end;
    } else if (!word("true", JsonType::boolean) && !word("false", JsonType::boolean) &&
               !word("null", JsonType::null)) {
      return bad("a value");
    }
    item.end = static_cast<std::uint32_t>(at);
    tree.items_.push_back(item);
    if (!stack.empty()) {
      auto& parent = stack.back();
      if (parent.last == 0) {
        tree.items_[parent.item].first = index;
      } else {
        tree.items_[parent.last].next = index;
      }
      parent.last = index;
    }
    if (opened) {
      if (stack.size() >= k_max_depth)
        return fail(Code::bad_request, "the JSON text is nested deeper than {} levels",
                    k_max_depth);
      stack.push_back({index, 0});
      at = skip_space(text, at);
      const char closer = c == '{' ? '}' : ']';
      if (at < text.size() && text[at] == closer) {
        // Falls into the closing loop below.
      } else if (c == '[') {
        key_begin = key_end = 0;
        continue;
      } else {
        goto member;
      }
    }
    // Behind a value: close what ends here, or go on to the next one.
    for (;;) {
      at = skip_space(text, at);
      if (stack.empty()) {
        if (at != text.size()) return bad("the end of the text");
        return tree;
      }
      auto& parent = tree.items_[stack.back().item];
      const bool object = parent.type == JsonType::object;
      if (at < text.size() && text[at] == (object ? '}' : ']')) {
        parent.end = static_cast<std::uint32_t>(++at);
        stack.pop_back();
        continue;
      }
      if (at >= text.size() || text[at] != ',') return bad(object ? "',' or '}'" : "',' or ']'");
      ++at;
      if (object) goto member;
      key_begin = key_end = 0;
      break;
    }
    continue;
  member:
    at = skip_space(text, at);
    if (at >= text.size() || text[at] != '"') return bad("a member's name");
    const auto end = check_string(text, at);
    if (end == std::string_view::npos) return bad("a well-formed string");
    key_begin = static_cast<std::uint32_t>(at);
    key_end = static_cast<std::uint32_t>(end);
    at = skip_space(text, end);
    if (at >= text.size() || text[at] != ':') return bad("':'");
    ++at;
  }
}

JsonType JsonNode::type() const {
  return tree_ == nullptr ? JsonType::null : tree_->items_[index_].type;
}
std::size_t JsonNode::begin() const { return tree_ == nullptr ? 0 : tree_->items_[index_].begin; }
std::size_t JsonNode::end() const { return tree_ == nullptr ? 0 : tree_->items_[index_].end; }
std::size_t JsonNode::begin_member() const {
  if (tree_ == nullptr) return 0;
  const auto& item = tree_->items_[index_];
  return item.key_end > item.key_begin ? item.key_begin : item.begin;
}
std::string_view JsonNode::raw() const {
  return tree_ == nullptr ? std::string_view() : tree_->text_.substr(begin(), end() - begin());
}
std::string_view JsonNode::raw_key() const {
  if (tree_ == nullptr) return {};
  const auto& item = tree_->items_[index_];
  return tree_->text_.substr(item.key_begin, item.key_end - item.key_begin);
}
std::string JsonNode::key() const { return json_unquote(raw_key()); }
std::string JsonNode::string() const { return is(JsonType::string) ? json_unquote(raw()) : ""; }

std::optional<std::int64_t> JsonNode::integer() const {
  if (!is(JsonType::number)) return std::nullopt;
  const auto text = raw();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

JsonNode JsonNode::first() const {
  if (tree_ == nullptr || tree_->items_[index_].first == 0) return {};
  return {tree_, tree_->items_[index_].first};
}
JsonNode JsonNode::next() const {
  if (tree_ == nullptr || tree_->items_[index_].next == 0) return {};
  return {tree_, tree_->items_[index_].next};
}

JsonNode JsonNode::operator[](std::string_view name) const {
  JsonNode found;
  if (!is(JsonType::object)) return found;
  for (auto child = first(); child; child = child.next()) {
    const auto raw = child.raw_key();
    const bool plain = raw.find('\\') == std::string_view::npos;
    if (plain ? raw.substr(1, raw.size() - 2) == name : child.key() == name) found = child;
  }
  return found;
}

JsonNode JsonNode::at(std::size_t index) const {
  if (!is(JsonType::array)) return {};
  auto child = first();
  for (; child && index > 0; --index)
    child = child.next();
  return child;
}

std::vector<JsonNode> JsonNode::children() const {
  std::vector<JsonNode> out;
  for (auto child = first(); child; child = child.next())
    out.push_back(child);
  return out;
}

std::vector<std::string> JsonNode::strings() const {
  std::vector<std::string> out;
  if (!is(JsonType::array)) return out;
  for (auto child = first(); child; child = child.next()) {
    if (child.is(JsonType::string)) out.push_back(child.string());
  }
  return out;
}

Result<void> members_once(JsonNode top) {
  std::vector<JsonNode> open{top};
  while (!open.empty()) {
    const auto node = open.back();
    open.pop_back();
    std::set<std::string> keys;
    for (auto child = node.first(); child; child = child.next()) {
      if (node.is(JsonType::object) && !keys.insert(child.key()).second)
        return fail(Code::bad_request, "duplicate field {}", json_quote(child.key()));
      open.push_back(child);
    }
  }
  return {};
}

void JsonEdits::replace(std::size_t begin, std::size_t end, std::string text) {
  edits_.push_back({begin, end, std::move(text)});
}

void JsonEdits::replace_key(JsonNode member, std::string_view name) {
  const auto begin = member.begin_member();
  replace(begin, begin + member.raw_key().size(), json_quote(name));
}

void JsonEdits::quote(JsonNode node, std::string_view value) { replace(node, json_quote(value)); }

JsonEdits::Change& JsonEdits::change(JsonNode parent) {
  const auto [at, fresh] = by_parent_.try_emplace(parent.begin(), changes_.size());
  if (fresh) changes_.push_back({parent, {}, {}});
  return changes_[at->second];
}

void JsonEdits::remove(JsonNode parent, JsonNode child) {
  change(parent).removed.push_back(child.begin());
}

void JsonEdits::append(JsonNode object, std::string_view name, std::string_view value) {
  auto text = json_quote(name);
  text += ':';
  text += value;
  change(object).added.push_back(std::move(text));
}

void JsonEdits::resolve(const Change& change, std::vector<Edit>& out) {
  auto removed = change.removed;
  std::sort(removed.begin(), removed.end());
  bool kept = false;
  JsonNode before;
  for (auto child = change.parent.first(); child; before = child, child = child.next()) {
    if (!std::binary_search(removed.begin(), removed.end(), child.begin())) {
      kept = true;
    } else if (kept) {
      out.push_back({before.end(), child.end(), ""});
    } else {
      const auto behind = child.next();
      out.push_back({child.begin_member(), behind ? behind.begin_member() : child.end(), ""});
    }
  }
  const auto at = before ? before.end() : change.parent.end() - 1;
  for (const auto& member : change.added) {
    out.push_back({at, at, (kept ? "," : "") + member});
    kept = true;
  }
}

std::string JsonEdits::apply(std::string_view text) const { return apply(text, 0, text.size()); }

std::string JsonEdits::apply(std::string_view text, std::size_t begin, std::size_t end) const {
  auto all = edits_;
  for (const auto& each : changes_)
    resolve(each, all);
  std::vector<const Edit*> order;
  for (const auto& edit : all) {
    if (edit.begin >= begin && edit.end <= end) order.push_back(&edit);
  }
  std::stable_sort(order.begin(), order.end(), [](const Edit* a, const Edit* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  std::string out;
  out.reserve(end - begin + 64);
  auto at = begin;
  for (const auto* edit : order) {
    if (edit->begin < at) continue; // inside something that an earlier edit replaced
    out += text.substr(at, edit->begin - at);
    out += edit->text;
    at = edit->end;
  }
  out += text.substr(at, end - at);
  return out;
}

} // namespace zoo::translate
