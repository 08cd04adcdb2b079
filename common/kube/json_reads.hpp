// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>

/// Reads of objects that somebody else has written, in which nothing needs to be as it should: what
/// is not there, or of another type, is empty. Pure.
namespace zoo::kube {

/// The text at a JSON pointer.
inline std::string text_at(const nlohmann::json& object, const char* pointer) {
  const nlohmann::json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_string()) return {};
  return object.at(at).get<std::string>();
}

/// The array at a JSON pointer; it lives as long as the object, or for ever.
inline const nlohmann::json& list_at(const nlohmann::json& object, const char* pointer) {
  static const nlohmann::json none = nlohmann::json::array();
  const nlohmann::json::json_pointer at(pointer);
  return object.contains(at) && object.at(at).is_array() ? object.at(at) : none;
}

/// Those members of the object at a JSON pointer that are texts: labels, annotations.
inline std::map<std::string, std::string, std::less<>> texts_at(const nlohmann::json& object,
                                                                const char* pointer) {
  std::map<std::string, std::string, std::less<>> out;
  const nlohmann::json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_object()) return out;
  for (const auto& [key, value] : object.at(at).items())
    if (value.is_string()) out.emplace(key, value.get<std::string>());
  return out;
}

/// As text; what is not UTF-8 becomes U+FFFD.
inline std::string text_of(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace zoo::kube
