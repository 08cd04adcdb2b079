// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// Reads of objects that upstream has written, in which nothing needs to be as it should. Pure.
namespace zoo::accounts {

/// The text at a JSON pointer; "" if there is none.
inline std::string text_at(const nlohmann::json& object, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_string()) return {};
  return object.at(at).get<std::string>();
}

/// The value of an annotation; "" if there is none.
inline std::string annotation_of(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json::json_pointer at("/metadata/annotations");
  if (!object.contains(at) || !object.at(at).is_object()) return {};
  const auto& all = object.at(at);
  const auto found = all.find(key);
  return found != all.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// As text; what is not UTF-8 becomes U+FFFD.
inline std::string text_of(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace zoo::accounts
