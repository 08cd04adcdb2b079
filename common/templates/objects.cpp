// SPDX-License-Identifier: Apache-2.0
#include "common/templates/objects.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/json_reads.hpp"
#include "common/kube/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace zoo::templates {
namespace {

using kube::text_at;
using kube::text_of;
using nlohmann::json;

constexpr std::size_t k_longest_label = 63;

/// helm.sh/helm/v3/pkg/releaseutil/kind_sorter.go, InstallOrder, of the kinds that may stand in a
/// namespace. What is not among them comes last.
constexpr std::array<std::string_view, 20> k_order = {"NetworkPolicy",
                                                      "ResourceQuota",
                                                      "LimitRange",
                                                      "PodDisruptionBudget",
                                                      "ServiceAccount",
                                                      "Secret",
                                                      "ConfigMap",
                                                      "PersistentVolumeClaim",
                                                      "Role",
                                                      "RoleBinding",
                                                      "Service",
                                                      "DaemonSet",
                                                      "Pod",
                                                      "ReplicationController",
                                                      "ReplicaSet",
                                                      "Deployment",
                                                      "HorizontalPodAutoscaler",
                                                      "StatefulSet",
                                                      "Job",
                                                      "CronJob"};

constexpr std::array<std::string_view, 6> k_servers_fields = {
    "resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink"};

/// By these labels and annotations zood knows what is its own, a space's or a tenant's.
constexpr std::array<std::string_view, 3> k_reserved = {"zoo.kubezoo.io/", "kiosk.sh/",
                                                        "tenant.kubezoo.io/"};

constexpr std::array<std::string_view, 2> k_own_groups = {"config.kiosk.sh", "tenancy.kiosk.sh"};

/// What zood puts into each namespace of a tenant.
constexpr std::array<std::string_view, 3> k_tenants = {"zoo-root-ca.crt", "zoo-baseline",
                                                       "zoo-tenant"};

std::size_t rank_of(const json& object) {
  const auto kind = text_at(object, "/kind");
  return static_cast<std::size_t>(std::find(k_order.begin(), k_order.end(), kind) -
                                  k_order.begin());
}

/// Takes lists apart, one level deep.
Result<std::vector<json>> without_lists(std::vector<json> objects) {
  std::vector<json> out;
  for (auto& object : objects) {
    if (!object.is_object())
      return fail(Code::invalid, "a manifest is no object: {}", text_of(object).substr(0, 80));
    const auto items = object.find("items");
    if (text_at(object, "/kind").ends_with("List") && items != object.end() && items->is_array()) {
      for (auto& item : *items)
        out.push_back(std::move(item));
    } else {
      out.push_back(std::move(object));
    }
    if (out.size() > k_most_objects)
      return fail(Code::too_large, "there are more than {} objects", k_most_objects);
  }
  return out;
}

Result<void> check_keys(const json& object, const char* member, std::string_view what,
                        const ObjectRef& ref) {
  const auto at = json::json_pointer("/metadata") / member;
  if (!object.contains(at) || object.at(at).is_null()) return {};
  if (!object.at(at).is_object())
    return fail(Code::invalid, "{}: metadata.{} is no object", ref.title(), member);
  for (const auto& [key, value] : object.at(at).items()) {
    if (!value.is_string())
      return fail(Code::invalid, "{}: the {} \"{}\" has a value that is no text", ref.title(), what,
                  key);
    if (key == k_drift) continue;
    if (std::any_of(k_reserved.begin(), k_reserved.end(),
                    [&key = key](std::string_view start) { return key.starts_with(start); }))
      return fail(Code::invalid, "{}: the {} \"{}\" is zood's own", ref.title(), what, key);
  }
  return {};
}

/// zood keeps these objects in namespaces itself: a template does not take their place.
bool zoods_own(const ObjectRef& ref) {
  if (ref.name.starts_with("zoo:") || ref.name.starts_with("zoo-quota")) return true;
  return std::find(k_tenants.begin(), k_tenants.end(), ref.name) != k_tenants.end();
}

} // namespace

std::string mark_of(std::string_view instance) {
  if (instance.size() <= k_longest_label) return std::string(instance);
  const auto digest = crypto::hex_encode(crypto::view(crypto::sha256(instance))).substr(0, 32);
  return fmt::format("{}_{}", instance.substr(0, k_longest_label - digest.size() - 1), digest);
}

std::string ObjectRef::group() const {
  const auto slash = api_version.find('/');
  return slash == std::string::npos ? std::string() : api_version.substr(0, slash);
}

std::string ObjectRef::title() const { return fmt::format("{} \"{}\"", kind, name); }

ObjectRef ref_of(const json& object) {
  return {text_at(object, "/apiVersion"), text_at(object, "/kind"),
          text_at(object, "/metadata/name")};
}

Result<std::vector<json>> objects_of_yaml(std::string_view stream) {
  if (stream.size() > k_most_bytes)
    return fail(Code::too_large, "the objects are longer than {} MiB", k_most_bytes >> 20);
  std::vector<json> out;
  std::size_t number = 0;
  for (std::size_t at = 0; at <= stream.size();) {
    // A document ends with a line that begins with "---".
    auto end = at;
    while (end < stream.size() && !(stream.substr(end).starts_with("---") && end > at)) {
      const auto line = stream.find('\n', end);
      end = line == std::string_view::npos ? stream.size() : line + 1;
    }
    auto document = stream.substr(at, end - at);
    at = end < stream.size() ? end : stream.size() + 1;
    if (document.starts_with("---")) document.remove_prefix(3);
    ++number;
    kube::YamlLimits limits;
    limits.bytes = k_most_bytes;
    auto read = kube::yaml_to_json(document, limits);
    if (!read)
      return fail(read.error().code() == Code::too_large ? Code::too_large : Code::invalid,
                  "document {}: {}", number, read.error().message());
    auto object = json::parse(*read, nullptr, false);
    if (object.is_null()) continue;
    if (!object.is_object()) return fail(Code::invalid, "document {} is no object", number);
    out.push_back(std::move(object));
    if (out.size() > k_most_objects)
      return fail(Code::too_large, "there are more than {} objects", k_most_objects);
  }
  return out;
}

Result<std::vector<json>> prepare_objects(std::vector<json> objects, std::string_view name_space) {
  ZOO_TRY(auto out, without_lists(std::move(objects)));
  std::set<std::string> seen;
  std::size_t bytes = 0;
  for (auto& object : out) {
    if (!object.is_object()) return fail(Code::invalid, "an item of a list is no object");
    const auto metadata = object.find("metadata");
    if (metadata != object.end() && !metadata->is_object())
      return fail(Code::invalid, "a manifest has a metadata that is no object");
    const auto ref = ref_of(object);
    if (ref.api_version.empty() || ref.kind.empty())
      return fail(Code::invalid, "a manifest named \"{}\" has no {}", ref.name,
                  ref.kind.empty() ? "kind" : "apiVersion");
    if (ref.name.empty())
      return fail(Code::invalid,
                  "a manifest of kind {} has no metadata.name (a generateName would make another "
                  "object each time)",
                  ref.kind);
    const auto group = ref.group();
    if (group == k_own_groups[0] || group == k_own_groups[1])
      return fail(Code::invalid, "{} is of group {}: templates make no objects of it", ref.title(),
                  group);
    if (zoods_own(ref)) return fail(Code::invalid, "{}: this name is zood's own", ref.title());
    if (const auto other = text_at(object, "/metadata/namespace");
        !other.empty() && other != name_space)
      return fail(Code::invalid,
                  "{} names namespace \"{}\": a template makes objects in the namespace of its "
                  "instance alone, which is \"{}\"",
                  ref.title(), other, name_space);
    ZOO_TRY_VOID(check_keys(object, "labels", "label", ref));
    ZOO_TRY_VOID(check_keys(object, "annotations", "annotation", ref));
    if (!seen.insert(ref.identity()).second)
      return fail(Code::invalid, "{} stands there twice", ref.title());
    for (const auto field : k_servers_fields)
      object["metadata"].erase(std::string(field));
    object["metadata"]["namespace"] = name_space;
    object.erase("status");
    bytes += text_of(object).size();
    if (bytes > k_most_bytes)
      return fail(Code::too_large, "the objects are longer than {} MiB", k_most_bytes >> 20);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const json& a, const json& b) { return rank_of(a) < rank_of(b); });
  return out;
}

} // namespace zoo::templates
