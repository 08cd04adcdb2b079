// SPDX-License-Identifier: Apache-2.0
#include "common/kube/json_patch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::kube {
namespace {

using nlohmann::json;

constexpr std::size_t k_depth_limit = 64; ///< of a body; a patch may double it
constexpr std::size_t k_operations = 1000;

std::size_t depth_of(const json& value) {
  std::size_t deepest = 0;
  if (value.is_structured())
    for (const auto& each : value)
      deepest = std::max(deepest, depth_of(each));
  return deepest + 1;
}

/// The library asserts that what gets a new member is an object or a list; a stranger's path may
/// lead into a string.
bool parent_takes_members(const json& object, const json& operation) {
  const auto at = operation.find("path");
  if (at == operation.end() || !at->is_string()) return true; // refused as malformed
  const json::json_pointer pointer(at->get_ref<const std::string&>());
  if (pointer.empty()) return true;
  const auto parent = pointer.parent_pointer();
  return !object.contains(parent) || object.at(parent).is_structured();
}

/// One operation; false: its path leads into a value that has no members.
bool run(json& object, const json& operation) {
  if (operation["op"] == "move" && operation.contains("from") && operation["from"].is_string()) {
    // Taking the value away may put a string where the new parent was: looked at in between.
    const json::json_pointer from(operation["from"].get_ref<const std::string&>());
    json added = operation;
    added["op"] = "add";
    added["value"] = object.at(from);
    object.patch_inplace(json::array({{{"op", "remove"}, {"path", operation["from"]}}}));
    return run(object, added);
  }
  if (operation["op"] != "test" && !parent_takes_members(object, operation)) return false;
  object.patch_inplace(json::array({operation}));
  return true;
}

std::size_t size_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace).size();
}

} // namespace

Result<json> json_patch(const json& object, const json& patch, std::size_t result_bytes) {
  if (!patch.is_array())
    return fail(Code::bad_request, "a JSON patch is a list of operations (RFC 6902)");
  if (patch.size() > k_operations)
    return fail(Code::too_large, "a JSON patch may have {} operations, this has {}", k_operations,
                patch.size());
  json out = object;
  for (std::size_t i = 0; i < patch.size(); ++i) {
    const auto& operation = patch[i];
    if (!operation.is_object() || !operation.contains("op") || !operation["op"].is_string())
      return fail(Code::bad_request, "operation {} of the JSON patch has no 'op'", i);
    const auto& name = operation["op"].get_ref<const std::string&>();
    try {
      // One at a time, so that what a chain of copies costs is seen before it is paid.
      if (!run(out, operation))
        return fail(Code::invalid, "operation {} ('{}') of the JSON patch leads into a value", i,
                    name);
    } catch (const json::parse_error&) {
      return fail(Code::bad_request, "operation {} ('{}') of the JSON patch is malformed", i, name);
    } catch (const json::exception&) {
      const auto path = operation.contains("path") && operation["path"].is_string()
                            ? operation["path"].get<std::string>()
                            : std::string();
      if (name == "test")
        return fail(Code::invalid, "operation {} of the JSON patch: the test of '{}' failed", i,
                    path);
      return fail(Code::invalid, "operation {} ('{}') of the JSON patch cannot be applied at '{}'",
                  i, name, path);
    }
    if (name != "copy") continue;
    if (depth_of(out) > 2 * k_depth_limit || size_of(out) > result_bytes)
      return fail(Code::too_large, "operation {} of the JSON patch makes the object too large", i);
  }
  if (depth_of(out) > 2 * k_depth_limit)
    return fail(Code::too_large, "the JSON patch nests the object too deep");
  return out;
}

Result<json> merge_patch(const json& object, const json& patch) {
  if (!patch.is_object())
    return fail(Code::bad_request, "a merge patch is a JSON object (RFC 7396)");
  json out = object;
  out.merge_patch(patch);
  return out;
}

} // namespace zoo::kube
