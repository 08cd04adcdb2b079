// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <charconv>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

/// Reads of objects that somebody else has written, in which nothing needs to be as it should: what
/// is not there, or of another type, is empty. Pure.
namespace zoo::kube {

/// Levels of arrays and objects in each other that a text from outside may have. No kind of
/// Kubernetes comes near it; copies of a tree go down level by level on the stack.
inline constexpr std::size_t k_most_levels = 500;

/// Has the JSON text more levels than `most`? False also for what is no JSON.
inline bool is_too_deep(std::string_view text, std::size_t most = k_most_levels) {
  std::size_t levels = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++levels > most) return true;
    } else if ((c == ']' || c == '}') && levels != 0) {
      --levels;
    }
  }
  return false;
}

/// What somebody else has written, who may mean harm: discarded where it is no JSON, or has too
/// many levels.
inline nlohmann::json parse_foreign(std::string_view text) {
  if (is_too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

/// What stands at a JSON pointer (RFC 6901); nullptr where nothing does. It lives as long as the
/// object.
inline const nlohmann::json* find_at(const nlohmann::json& object, std::string_view pointer) {
  if (pointer.find('~') != pointer.npos) {
    const nlohmann::json::json_pointer at{std::string(pointer)};
    return object.contains(at) ? &object.at(at) : nullptr;
  }
  const nlohmann::json* out = &object;
  while (!pointer.empty()) {
    pointer.remove_prefix(1); // the slash
    const auto name = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(name.size());
    if (out->is_object()) {
      const auto found = out->find(name);
      if (found == out->end()) return nullptr;
      out = &*found;
    } else if (out->is_array()) {
      std::size_t index = 0;
      const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
      if (read.ec != std::errc() || read.ptr != name.data() + name.size() || index >= out->size())
        return nullptr;
      out = &(*out)[index];
    } else {
      return nullptr;
    }
  }
  return out;
}

/// What stands at a JSON pointer; null where nothing does.
inline nlohmann::json value_at(const nlohmann::json& object, std::string_view pointer) {
  const auto* const found = find_at(object, pointer);
  return found == nullptr ? nlohmann::json() : *found;
}

/// The text at a JSON pointer.
inline std::string text_at(const nlohmann::json& object, std::string_view pointer) {
  const auto* const found = find_at(object, pointer);
  if (found == nullptr || !found->is_string()) return {};
  return found->get<std::string>();
}

/// The array at a JSON pointer; it lives as long as the object, or for ever.
inline const nlohmann::json& list_at(const nlohmann::json& object, std::string_view pointer) {
  static const nlohmann::json none = nlohmann::json::array();
  const auto* const found = find_at(object, pointer);
  return found != nullptr && found->is_array() ? *found : none;
}

/// Those members of the object at a JSON pointer that are texts: labels, annotations.
inline std::map<std::string, std::string, std::less<>> texts_at(const nlohmann::json& object,
                                                                std::string_view pointer) {
  std::map<std::string, std::string, std::less<>> out;
  const auto* const found = find_at(object, pointer);
  if (found == nullptr || !found->is_object()) return out;
  for (const auto& [key, value] : found->items())
    if (value.is_string()) out.emplace(key, value.get<std::string>());
  return out;
}

/// As text; what is not UTF-8 becomes U+FFFD.
inline std::string text_of(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace zoo::kube
