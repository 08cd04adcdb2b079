// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

/// Reads of objects that upstream has written, in which nothing needs to be as it should. Pure.
namespace zoo::accounts {

using kube::text_at;
using kube::text_of;
using kube::value_at;

/// Where an object has the label kiosk.sh/account: for text_at().
inline constexpr const char* k_account_label_at = "/metadata/labels/kiosk.sh~1account";

/// The value of an annotation; "" if there is none.
inline std::string annotation_of(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json::json_pointer at("/metadata/annotations");
  if (!object.contains(at) || !object.at(at).is_object()) return {};
  const auto& all = object.at(at);
  const auto found = all.find(key);
  return found != all.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// The items of a list; `of`: its path. Code::unavailable if this is no list: it must not be taken
/// for an empty one.
inline Result<nlohmann::json> items_of(const nlohmann::json& list, std::string_view of) {
  const auto found = list.find("items");
  // A list of none may be written as null.
  if (found != list.end() && found->is_null()) return nlohmann::json::array();
  if (found != list.end() && found->is_array()) return *found;
  return fail(
      Code::unavailable,
      "the upstream answered GET {} with something that is not a list: is a proxy in between?", of);
}

} // namespace zoo::accounts
