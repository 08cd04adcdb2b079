// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/fields.hpp"

#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/resources/patch.hpp"
#include "daemon/translate/selector.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace zoo::resources {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 16> k_metadata = {"name",
                                                         "generateName",
                                                         "namespace",
                                                         "uid",
                                                         "resourceVersion",
                                                         "generation",
                                                         "labels",
                                                         "annotations",
                                                         "creationTimestamp",
                                                         "deletionTimestamp",
                                                         "deletionGracePeriodSeconds",
                                                         "finalizers",
                                                         "ownerReferences",
                                                         "managedFields",
                                                         "selfLink",
                                                         "clusterName"};
constexpr std::size_t k_most_words = 32;

void look(const json& object, const std::string& under, std::span<const std::string_view> known,
          std::vector<std::string>& out) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (out.size() >= k_most_words) return;
    std::string word = "unknown field \"" + under + key + "\"";
    if (const auto meant = text::nearest(key, known))
      word += ", did you mean \"" + under + std::string(*meant) + "\"?";
    out.push_back(std::move(word));
  }
}

/// What the members of `value` have that the schema of `field` has not.
void look_into(const json& value, const Field& field, const std::string& path,
               std::vector<std::string>& out) {
  if (field.type == Field::Type::list && value.is_array() && !field.fields.empty()) {
    for (std::size_t i = 0; i < value.size() && out.size() < k_most_words; ++i)
      look_into(value[i], field.fields.front(), fmt::format("{}[{}]", path, i), out);
  }
  if (field.type != Field::Type::object || !value.is_object()) return;
  std::vector<std::string_view> known;
  for (const auto& each : field.fields)
    known.push_back(each.name);
  look(value, path + ".", known, out);
  for (const auto& each : field.fields)
    if (const auto* inner = member(value, each.name.c_str()))
      look_into(*inner, each, path + "." + each.name, out);
}

std::string_view wanted_of(Field::Type type) {
  switch (type) {
  case Field::Type::text:
    return "a string";
  case Field::Type::flag:
    return "true or false";
  case Field::Type::number:
    return "a whole number";
  case Field::Type::map:
    return "a mapping of strings";
  case Field::Type::object:
  case Field::Type::open:
    return "a mapping";
  case Field::Type::list:
    return "a list";
  }
  return {};
}

bool fits(const json& value, Field::Type type) {
  switch (type) {
  case Field::Type::text:
    return value.is_string();
  case Field::Type::flag:
    return value.is_boolean();
  case Field::Type::number:
    return value.is_number_integer();
  case Field::Type::map:
    return value.is_object() && std::all_of(value.begin(), value.end(),
                                            [](const json& each) { return each.is_string(); });
  case Field::Type::object:
  case Field::Type::open:
    return value.is_object();
  case Field::Type::list:
    return value.is_array();
  }
  return false;
}

Result<void> check_type(const json& value, const Field& field, const std::string& path) {
  if (value.is_null()) return {};
  if (!fits(value, field.type))
    return fail(Code::invalid, "{} must be {}, not {}", path, wanted_of(field.type),
                dump(value).substr(0, 64));
  if (field.type == Field::Type::list && !field.fields.empty()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      ZOO_TRY_VOID(check_type(value[i], field.fields.front(), fmt::format("{}[{}]", path, i)));
  }
  if (field.type != Field::Type::object) return {};
  for (const auto& each : field.fields)
    if (const auto* inner = member(value, each.name.c_str()))
      ZOO_TRY_VOID(check_type(*inner, each, path + "." + each.name));
  return {};
}

} // namespace

const json* member(const json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

Result<std::string> text_member(const json& object, const char* key, std::string_view shown) {
  const auto* value = member(object, key);
  if (!value || value->is_null()) return std::string();
  if (!value->is_string()) return fail(Code::bad_request, "{} must be a string", shown);
  return value->get<std::string>();
}

Result<FieldValidation> field_validation(std::string_view parameter) {
  if (parameter.empty() || parameter == "Warn") return FieldValidation::warn;
  if (parameter == "Strict") return FieldValidation::strict;
  if (parameter == "Ignore") return FieldValidation::ignore;
  return fail(Code::bad_request, "fieldValidation must be Ignore, Warn or Strict, not '{}'",
              parameter);
}

std::vector<std::string> unknown_fields(const Kind& kind, const json& object) {
  std::vector<std::string> out;
  std::vector<std::string_view> top = {"apiVersion", "kind", "metadata"};
  for (const auto& field : kind.fields)
    top.push_back(field.name);
  look(object, "", top, out);
  if (const auto* metadata = member(object, "metadata"))
    look(*metadata, "metadata.", k_metadata, out);
  for (const auto& field : kind.fields)
    if (const auto* value = member(object, field.name.c_str()))
      look_into(*value, field, field.name, out);
  return out;
}

std::vector<std::string> without(std::vector<std::string> words,
                                 std::span<const std::string> others) {
  std::erase_if(words, [others](const std::string& word) {
    return std::find(others.begin(), others.end(), word) != others.end();
  });
  return words;
}

Result<std::vector<std::string>> judge_fields(const Kind& kind, FieldValidation wish,
                                              const json& object,
                                              std::span<const std::string> duplicates,
                                              std::span<const std::string> stored) {
  if (wish == FieldValidation::ignore) return std::vector<std::string>{};
  auto words = without(unknown_fields(kind, object), stored);
  for (const auto& path : duplicates)
    words.push_back("duplicate field \"" + path + "\"");
  if (wish == FieldValidation::warn || words.empty()) return words;
  return fail(Code::bad_request, "strict decoding error: {}", fmt::join(words, ", "));
}

void scrub(const Kind& kind, json& object) {
  if (!object.is_object() || !object.contains("metadata")) return;
  auto& metadata = object["metadata"];
  if (!metadata.is_object()) return;
  metadata.erase("selfLink");
  if (!kind.owners) metadata.erase("managedFields");
  if (!kind.namespaced) metadata.erase("namespace");
  if (kind.strategy.scrub) kind.strategy.scrub(object);
}

void keep_servers_metadata(json& object, const json& live,
                           std::initializer_list<const char*> more) {
  static constexpr std::initializer_list<const char*> k_servers = {"uid",
                                                                   "generation",
                                                                   "creationTimestamp",
                                                                   "deletionTimestamp",
                                                                   "deletionGracePeriodSeconds",
                                                                   "generateName",
                                                                   "selfLink"};
  const auto* before = member(live, "metadata");
  auto& metadata = object["metadata"];
  for (const auto& names : {k_servers, more}) {
    for (const auto* name : names) {
      const auto* value = before != nullptr ? member(*before, name) : nullptr;
      if (value != nullptr)
        metadata[name] = *value;
      else
        metadata.erase(name);
    }
  }
}

std::string generated_name(std::string_view start, std::size_t longest) {
  // k8s.io/apimachinery/pkg/util/rand: no vowels, nothing that reads like something else.
  constexpr std::string_view k_letters = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t k_random = 5;
  std::string out(start.substr(0, longest - k_random));
  const auto bytes = crypto::random_bytes(k_random);
  for (std::size_t i = 0; bytes && i < k_random; ++i)
    out += k_letters[static_cast<unsigned char>((*bytes)[i]) % k_letters.size()];
  return out;
}

Result<void> check_shape(const Kind& kind, json& object) {
  if (!object.is_object())
    return fail(Code::bad_request, "the body must be a {}, which is a mapping", kind.kind);
  drop_nulls(object);
  for (const auto& [name, expected] :
       {std::pair("apiVersion", kind.api_version()), std::pair("kind", kind.kind)}) {
    auto& given = object[name];
    if (given.is_null() || given == "") given = expected;
    if (given != expected)
      return fail(Code::bad_request, "{} must be {} here, not {}", name, expected,
                  dump(given).substr(0, 64));
  }
  const Field metadata{"metadata", Field::Type::object, {}, kind.metadata, {}};
  if (const auto* value = member(object, "metadata"))
    ZOO_TRY_VOID(check_type(*value, metadata, "metadata"));
  for (const auto& field : kind.fields)
    if (const auto* value = member(object, field.name.c_str()))
      ZOO_TRY_VOID(check_type(*value, field, field.name));
  return {};
}

Result<void> check_metadata(const json& object) {
  const auto* metadata = member(object, "metadata");
  if (!metadata) return {};
  if (const auto* labels = member(*metadata, "labels"); labels && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (!translate::valid_label_key(key))
        return fail(Code::invalid,
                    "metadata.labels: '{}' is not a label key: up to 63 letters, digits, '-', '_' "
                    "and '.', beginning and ending with a letter or digit, optionally behind a "
                    "DNS name and '/'",
                    key);
      if (value.is_string() && !translate::valid_label_value(value.get_ref<const std::string&>()))
        return fail(Code::invalid,
                    "metadata.labels: the value of '{}' must be empty or up to 63 letters, digits, "
                    "'-', '_' and '.', beginning and ending with a letter or digit",
                    key);
    }
  }
  if (const auto* notes = member(*metadata, "annotations"); notes && notes->is_object()) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : notes->items()) {
      if (!translate::valid_label_key(key))
        return fail(Code::invalid, "metadata.annotations: '{}' is not an annotation key", key);
      bytes += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
    }
    if (bytes > (256u << 10))
      return fail(Code::invalid, "metadata.annotations may hold 262144 bytes, these are {}", bytes);
  }
  return {};
}

} // namespace zoo::resources
