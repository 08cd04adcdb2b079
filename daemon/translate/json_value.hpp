// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <cstddef>
#include <string>
#include <string_view>
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

/// Numbers by their spelling, strings unescaped, objects whatever the order of their members.
bool same_json(const JsonValue& a, const JsonValue& b);

} // namespace zoo::translate
