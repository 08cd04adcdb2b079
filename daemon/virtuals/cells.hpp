// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// Reading objects for the cells of their Table rows: what is not there is nothing, never an error.
/// Any thread.
namespace zoo::virtuals {

/// A member of an object; null if it has none, or `object` is none.
inline const nlohmann::json& member_of(const nlohmann::json& object, std::string_view member) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto found = object.find(member);
  return found == object.end() ? none : *found;
}

/// A string that says something, or `otherwise`.
inline std::string text_of(const nlohmann::json& value, std::string_view otherwise = "") {
  const auto* const said = value.get_ptr<const std::string*>();
  return said != nullptr && !said->empty() ? *said : std::string(otherwise);
}

} // namespace zoo::virtuals
