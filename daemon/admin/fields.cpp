// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/fields.hpp"

#include "common/api/tenant.hpp"
#include "common/base/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace zoo::admin {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 5> k_top = {"apiVersion", "kind", "metadata", "spec",
                                                   "status"};
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
// `id` stands in KubeZoo's manifests; it says nothing, since the name is the ID.
constexpr std::array<std::string_view, 8> k_spec = {"displayName", "account", "suspended", "audit",
                                                    "quota",       "flow",    "guards",    "id"};
constexpr std::array<std::string_view, 9> k_status = {
    "phase",       "conditions", "certificateExpiry",  "credentials", "waitingFor",
    "hadWebhooks", "heldUntil",  "observedGeneration", "usage"};

void look(const json& object, std::string_view under, std::span<const std::string_view> known,
          std::vector<std::string>& out) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    if (out.size() >= 32) return;
    std::string word = "unknown field \"" + std::string(under) + key + "\"";
    if (const auto meant = text::nearest(key, known))
      word += ", did you mean \"" + std::string(under) + std::string(*meant) + "\"?";
    out.push_back(std::move(word));
  }
}

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool name_part(std::string_view text) {
  return !text.empty() && text.size() <= 63 && alphanumeric(text.front()) &&
         alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return alphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool subdomain(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                              c == '.';
                     }) &&
         text.front() != '-' && text.front() != '.' && text.back() != '-' && text.back() != '.';
}

bool qualified(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return name_part(key);
  return subdomain(key.substr(0, slash)) && name_part(key.substr(slash + 1));
}

constexpr const char* k_last_applied = "kubectl.kubernetes.io/last-applied-configuration";

void scrub_annotations(json& annotations) {
  if (!annotations.is_object()) return;
  annotations.erase(std::string(api::k_kubeconfig_annotation));
  const auto at = annotations.find(k_last_applied);
  if (at == annotations.end() || !at->is_string()) return;
  const auto& words = at->get_ref<const std::string&>();
  // Any spelling may hide the key (escapes), so every last-applied object is opened. Text that
  // cannot be opened, or is nested beyond all measure, is not kept.
  std::size_t depth = 0, deepest = 0;
  for (const char c : words) {
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  auto applied =
      deepest > 200 ? json(json::value_t::discarded) : json::parse(words, nullptr, false);
  if (applied.is_discarded()) {
    annotations.erase(at);
    return;
  }
  auto* metadata =
      applied.is_object() && applied.contains("metadata") ? &applied["metadata"] : nullptr;
  if (!metadata || !metadata->is_object() || !metadata->contains("annotations")) return;
  auto& inner = (*metadata)["annotations"];
  if (!inner.is_object() || inner.erase(std::string(api::k_kubeconfig_annotation)) == 0) return;
  *at = applied.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
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

std::vector<std::string> unknown_fields(const json& tenant) {
  std::vector<std::string> out;
  look(tenant, "", k_top, out);
  if (const auto* metadata = member(tenant, "metadata"))
    look(*metadata, "metadata.", k_metadata, out);
  if (const auto* spec = member(tenant, "spec")) look(*spec, "spec.", k_spec, out);
  if (const auto* status = member(tenant, "status")) look(*status, "status.", k_status, out);
  return out;
}

std::vector<std::string> without(std::vector<std::string> words,
                                 std::span<const std::string> others) {
  std::erase_if(words, [others](const std::string& word) {
    return std::find(others.begin(), others.end(), word) != others.end();
  });
  return words;
}

Result<std::vector<std::string>> judge_fields(FieldValidation wish, const json& tenant,
                                              std::span<const std::string> duplicates,
                                              std::span<const std::string> stored) {
  if (wish == FieldValidation::ignore) return std::vector<std::string>{};
  auto words = without(unknown_fields(tenant), stored);
  for (const auto& path : duplicates)
    words.push_back("duplicate field \"" + path + "\"");
  if (wish == FieldValidation::warn || words.empty()) return words;
  return fail(Code::bad_request, "strict decoding error: {}", fmt::join(words, ", "));
}

void scrub(json& tenant) {
  if (!tenant.is_object() || !tenant.contains("metadata")) return;
  auto& metadata = tenant["metadata"];
  if (!metadata.is_object()) return;
  metadata.erase("managedFields");
  metadata.erase("selfLink");
  metadata.erase("namespace");
  if (metadata.contains("annotations")) scrub_annotations(metadata["annotations"]);
}

Result<void> check_metadata(const json& tenant) {
  const auto* metadata = member(tenant, "metadata");
  if (!metadata) return {};
  if (const auto* labels = member(*metadata, "labels"); labels && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      if (!qualified(key))
        return fail(Code::invalid,
                    "metadata.labels: '{}' is not a label key: up to 63 letters, digits, '-', '_' "
                    "and '.', beginning and ending with a letter or digit, optionally behind a "
                    "DNS name and '/'",
                    key);
      if (value.is_string() && !value.get_ref<const std::string&>().empty() &&
          !name_part(value.get_ref<const std::string&>()))
        return fail(Code::invalid,
                    "metadata.labels: the value of '{}' must be empty or up to 63 letters, digits, "
                    "'-', '_' and '.', beginning and ending with a letter or digit",
                    key);
    }
  }
  if (const auto* notes = member(*metadata, "annotations"); notes && notes->is_object()) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : notes->items()) {
      if (!qualified(key))
        return fail(Code::invalid, "metadata.annotations: '{}' is not an annotation key", key);
      bytes += key.size() + (value.is_string() ? value.get_ref<const std::string&>().size() : 0);
    }
    if (bytes > (256u << 10))
      return fail(Code::invalid, "metadata.annotations may hold 262144 bytes, these are {}", bytes);
  }
  return {};
}

} // namespace zoo::admin
