// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace zoo::translate {

struct JsonMember;

/// A JSON value that is changed in many places, where JsonTree and its edits would need a reading
/// after each change: what a JSON patch is applied to. Numbers and strings stay as they were
/// written, members in their order; white space goes. A value without state: any thread.
struct JsonValue {
  using Member = JsonMember;

  JsonType type = JsonType::null;
  std::string text = "null"; ///< of a scalar: its bytes, a string with its quotes
  std::vector<Member> members;
  std::vector<JsonValue> elements;

  /// Deeper values are refused: they are read and written by recursion.
  static constexpr std::size_t k_deepest = 2'000;

  /// Code::bad_request: no JSON, or a member twice; Code::invalid: nested deeper than k_deepest.
  static Result<JsonValue> parse(std::string_view text);
  static Result<JsonValue> of(JsonNode node);
  static JsonValue object();
  static JsonValue string(std::string_view text);

  bool is(JsonType other) const { return type == other; }
  std::string unquoted() const; ///< of a string; else ""
  const JsonValue* find(std::string_view name) const;
  JsonValue* find(std::string_view name);
  /// The object of that name, which is made if there is none or another value.
  JsonValue& child(std::string_view name);
  void set(std::string_view name, JsonValue value);
  bool erase(std::string_view name);

  void write(std::string& out) const;
  std::string written() const;
};

/// A member of an object.
struct JsonMember {
  std::string first; ///< its name, unescaped
  JsonValue second;
};

/// The members of an object by their names, for whoever looks for many of them: clients choose how
/// many members an object has, and JsonValue::find() looks at each. `Value`: JsonValue or const
/// JsonValue. The object's members neither come nor go meanwhile; their values may change.
template <typename Value>
class MembersByName {
public:
  explicit MembersByName(Value& object) {
    sorted_.reserve(object.members.size());
    for (auto& member : object.members)
      sorted_.emplace_back(member.first, &member.second);
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  Value* find(std::string_view name) const {
    const auto at = std::lower_bound(
        sorted_.begin(), sorted_.end(), name,
        [](const auto& each, std::string_view sought) { return each.first < sought; });
    return at == sorted_.end() || at->first != name ? nullptr : at->second;
  }

private:
  std::vector<std::pair<std::string_view, Value*>> sorted_;
};

/// Members of an object that come and go, all of them in apply(); until then the object has those
/// that it had.
class MemberEdits {
public:
  explicit MemberEdits(JsonValue& object) : object_(object), present_(object) {}
  JsonValue* find(std::string_view name) const { return present_.find(name); }
  void add(std::string name, JsonValue value); ///< of a name that find() does not find, once
  void erase(const JsonValue* found) { gone_.insert(found); }
  void apply(); ///< the last call

private:
  JsonValue& object_;
  const MembersByName<JsonValue> present_;
  std::vector<JsonMember> come_;
  std::unordered_set<const JsonValue*> gone_;
};

/// Numbers by their spelling, strings unescaped, objects whatever the order of their members.
bool same_json(const JsonValue& a, const JsonValue& b);

} // namespace zoo::translate
