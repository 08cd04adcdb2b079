// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_value.hpp"

#include "common/base/json_text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::translate {
namespace {

Result<JsonValue> value_of(JsonNode node, std::size_t depth) {
  if (depth == JsonValue::k_deepest)
    return fail(Code::invalid, "the object is nested more than {} levels deep",
                JsonValue::k_deepest);
  JsonValue out;
  out.type = node.type();
  if (out.type == JsonType::object) {
    for (auto child = node.first(); child; child = child.next()) {
      ZOO_TRY(auto value, value_of(child, depth + 1));
      out.members.push_back({child.key(), std::move(value)});
    }
  } else if (out.type == JsonType::array) {
    for (auto child = node.first(); child; child = child.next()) {
      ZOO_TRY(auto value, value_of(child, depth + 1));
      out.elements.push_back(std::move(value));
    }
  } else {
    out.text = node.raw();
  }
  return out;
}

} // namespace

Result<JsonValue> JsonValue::parse(std::string_view text) {
  ZOO_TRY(const auto tree, JsonTree::parse(text));
  ZOO_TRY_VOID(members_once(tree.root()));
  return of(tree.root());
}

Result<JsonValue> JsonValue::of(JsonNode node) {
  if (!node) return JsonValue{};
  return value_of(node, 0);
}

JsonValue JsonValue::object() {
  JsonValue out;
  out.type = JsonType::object;
  return out;
}

JsonValue JsonValue::string(std::string_view text) {
  JsonValue out;
  out.type = JsonType::string;
  out.text = json_quote(text);
  return out;
}

std::string JsonValue::unquoted() const { return is(JsonType::string) ? json_unquote(text) : ""; }

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto at = std::find_if(members.begin(), members.end(),
                               [name](const Member& each) { return each.first == name; });
  return at == members.end() ? nullptr : &at->second;
}

JsonValue* JsonValue::find(std::string_view name) {
  return const_cast<JsonValue*>(std::as_const(*this).find(name));
}

JsonValue& JsonValue::child(std::string_view name) {
  auto* found = find(name);
  if (found == nullptr) {
    members.push_back({std::string(name), object()});
    return members.back().second;
  }
  if (!found->is(JsonType::object)) *found = object();
  return *found;
}

void JsonValue::set(std::string_view name, JsonValue value) {
  if (auto* found = find(name)) {
    *found = std::move(value);
  } else {
    members.push_back({std::string(name), std::move(value)});
  }
}

bool JsonValue::erase(std::string_view name) {
  return std::erase_if(members, [name](const Member& each) { return each.first == name; }) != 0;
}

void JsonValue::write(std::string& out) const {
  if (type == JsonType::object) {
    out += '{';
    for (const auto& [name, value] : members) {
      if (out.back() != '{') out += ',';
      append_json_quoted(out, name);
      out += ':';
      value.write(out);
    }
    out += '}';
  } else if (type == JsonType::array) {
    out += '[';
    for (const auto& value : elements) {
      if (&value != elements.data()) out += ',';
      value.write(out);
    }
    out += ']';
  } else {
    out += text;
  }
}

std::string JsonValue::written() const {
  std::string out;
  write(out);
  return out;
}

void MemberEdits::add(std::string name, JsonValue value) {
  come_.push_back({std::move(name), std::move(value)});
}

void MemberEdits::apply() {
  std::vector<JsonMember> members;
  members.reserve(object_.members.size() + come_.size());
  for (auto& each : object_.members)
    if (!gone_.contains(&each.second)) members.push_back(std::move(each));
  for (auto& each : come_)
    members.push_back(std::move(each));
  object_.members = std::move(members);
}

bool same_json(const JsonValue& a, const JsonValue& b) {
  if (a.type != b.type) return false;
  if (a.is(JsonType::array))
    return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                      same_json);
  if (a.is(JsonType::object)) {
    if (a.members.size() != b.members.size()) return false;
    std::optional<MembersByName<const JsonValue>> by_name;
    for (std::size_t i = 0; i < a.members.size(); ++i) {
      const auto& [name, value] = a.members[i];
      const auto* other = &b.members[i].second;
      if (b.members[i].first != name) { // mostly they stand in one order
        if (!by_name) by_name.emplace(b);
        other = by_name->find(name);
      }
      if (other == nullptr || !same_json(value, *other)) return false;
    }
    return true;
  }
  return a.text == b.text || (a.is(JsonType::string) && a.unquoted() == b.unquoted());
}

} // namespace zoo::translate
