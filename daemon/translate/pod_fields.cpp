// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/pod_fields.hpp"

#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/inside.hpp"

#include <algorithm>
#include <array>

namespace zoo::translate {
namespace {

using protobuf::put_bytes;
using protobuf::put_number;
using protobuf::Wire;
using protobuf::WireField;
using protobuf::WireReader;

constexpr std::string_view k_namespace_field = "metadata.namespace";
constexpr std::string_view k_namespace_key = "namespace"; ///< of k_root_ca

/// The KEY of "metadata.annotations['KEY']" or "metadata.labels['KEY']"; "" of another path
/// (k8s.io/kubernetes pkg/fieldpath, SplitMaybeSubscriptedPath).
std::string_view subscript_of(std::string_view path) {
  for (const std::string_view start : {"metadata.annotations['", "metadata.labels['"}) {
    if (path.starts_with(start) && path.ends_with("']") && path.size() > start.size() + 2)
      return path.substr(start.size(), path.size() - start.size() - 2);
  }
  return {};
}

/// Has `object` these members and no other one?
bool has_only(JsonNode object, std::initializer_list<std::string_view> members) {
  if (!object.is(JsonType::object)) return false;
  for (auto each = object.first(); each; each = each.next()) {
    if (std::find(members.begin(), members.end(), each.key()) == members.end()) return false;
  }
  return true;
}

// k8s.io/api/core/v1/generated.proto.
constexpr std::uint32_t k_downward_api = 2, k_config_map = 3;          // VolumeProjection
constexpr std::uint32_t k_reference = 1, k_items = 2;                  // ConfigMapProjection
constexpr std::uint32_t k_key = 1, k_path = 2, k_mode = 3;             // KeyToPath
constexpr std::uint32_t k_file_path = 1, k_field = 2, k_file_mode = 4; // DownwardAPIVolumeFile

/// Calls `take` with each field of a message; false: it is none, or `take` does not know the field.
template <class Take>
bool each_field(std::string_view message, Take&& take) {
  WireReader reader(message);
  for (WireField field; !reader.done();) {
    if (!reader.next(field) || !take(field)) return false;
  }
  return true;
}

bool reads_it(JsonNode item) { return item["fieldRef"]["fieldPath"].string() == k_namespace_field; }

bool one_reads_it(JsonNode items) {
  for (auto item = items.first(); item; item = item.next()) {
    if (reads_it(item)) return true;
  }
  return false;
}

bool volume_reads_it(JsonNode volume) {
  if (one_reads_it(volume["downwardAPI"]["items"])) return true;
  for (auto source = volume["projected"]["sources"].first(); source; source = source.next()) {
    const auto items = source["downwardAPI"]["items"];
    if (items.at(1) && one_reads_it(items)) return true; // one alone becomes a ConfigMap's
  }
  return false;
}

} // namespace

Fate pod_field(Direction direction, std::string_view path, std::string& output) {
  const auto key = subscript_of(path);
  if (direction == Direction::prove || key.empty() || !own_key(key)) return Fate::keep;
  if (direction == Direction::inward) {
    output = "names an annotation or label that is reserved (rule reserved-names): the pod's "
             "namespace is metadata.namespace";
    return Fate::refuse;
  }
  if (key != k_pod_namespace || !path.starts_with("metadata.annotations")) return Fate::keep;
  output = k_namespace_field;
  return Fate::replace;
}

Fate root_ca(Direction direction, std::string_view name, std::string& output) {
  if (direction == Direction::prove || name != k_root_ca) return Fate::keep;
  if (direction == Direction::inward) {
    output = "names a ConfigMap that is reserved (rule reserved-names): name kube-root-ca.crt";
    return Fate::refuse;
  }
  output = k_upstream_root_ca;
  return Fate::replace;
}

std::optional<std::string> namespace_source(JsonNode source) {
  const auto map = source["configMap"];
  const auto item = map["items"].first();
  if (!has_only(source, {"configMap"}) || !has_only(map, {"name", "items"}) ||
      map["name"].string() != k_root_ca || !has_only(item, {"key", "path", "mode"}) ||
      item.next() || item["key"].string() != k_namespace_key || !item["path"].is(JsonType::string))
    return std::nullopt;
  auto out = R"({"downwardAPI":{"items":[{"path":)" + std::string(item["path"].raw()) +
             R"(,"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"})";
  if (const auto mode = item["mode"]) out += ",\"mode\":" + std::string(mode.raw());
  return out + "}]}}";
}

std::optional<std::string> namespace_source_wire(std::string_view source) {
  std::string_view map, reference, item, path;
  std::optional<std::uint64_t> mode;
  bool named = false, keyed = false;
  unsigned items = 0;
  const auto takes = [](const WireField& field, std::uint32_t number, std::string_view& to) {
    if (field.number != number || field.wire != Wire::bytes) return false;
    to = field.bytes;
    return true;
  };
  const bool shaped =
      each_field(source,
                 [&](const WireField& f) { return map.empty() && takes(f, k_config_map, map); }) &&
      each_field(map,
                 [&](const WireField& f) {
                   if (takes(f, k_items, item)) return ++items == 1;
                   return takes(f, k_reference, reference);
                 }) &&
      each_field(reference,
                 [&](const WireField& f) {
                   std::string_view name;
                   named = takes(f, 1, name) && name == k_root_ca;
                   return named;
                 }) &&
      each_field(item, [&](const WireField& f) {
        std::string_view key;
        if (takes(f, k_key, key)) return keyed = key == k_namespace_key;
        if (f.number == k_mode && f.wire == Wire::varint) {
          mode = f.value;
          return true;
        }
        return takes(f, k_path, path);
      });
  if (!shaped || !named || !keyed || items != 1) return std::nullopt;
  std::string field, file, list, out;
  put_bytes(field, 1, "v1");
  put_bytes(field, 2, k_namespace_field);
  put_bytes(file, k_file_path, path);
  put_bytes(file, k_field, field);
  if (mode) put_number(file, k_file_mode, *mode);
  put_bytes(list, 1, file);
  put_bytes(out, k_downward_api, list);
  return out;
}

bool reads_namespace(JsonNode pod) {
  const auto spec = pod["spec"];
  for (const auto* group : {"containers", "initContainers", "ephemeralContainers"}) {
    for (auto container = spec[group].first(); container; container = container.next()) {
      for (auto env = container["env"].first(); env; env = env.next()) {
        if (reads_it(env["valueFrom"])) return true;
      }
    }
  }
  for (auto volume = spec["volumes"].first(); volume; volume = volume.next()) {
    if (volume_reads_it(volume)) return true;
  }
  return false;
}

} // namespace zoo::translate
