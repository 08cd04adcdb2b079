// SPDX-License-Identifier: Apache-2.0
#include "common/kube/protobuf_wire.hpp"
#include "daemon/admin/reviews.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace zoo::admin {
namespace {

using nlohmann::json;

// Field numbers: k8s.io/api/authorization/v1/generated.proto and
// k8s.io/apimachinery/pkg/runtime/generated.proto (Unknown).
constexpr std::string_view k_magic("k8s\0", 4);
constexpr const char* k_resource_fields[] = {"namespace", "verb",        "group", "version",
                                             "resource",  "subresource", "name"};
constexpr const char* k_path_fields[] = {"path", "verb"};

/// The last field of that number, if there is one. False if the bytes are no protobuf.
bool find(std::string_view message, std::uint32_t number, std::optional<std::string_view>& out) {
  protobuf::WireField field;
  for (protobuf::WireReader reader(message); !reader.done();) {
    if (!reader.next(field)) return false;
    if (field.number == number) out = field.bytes;
  }
  return true;
}

bool texts(std::string_view message, std::span<const char* const> names, json& out) {
  protobuf::WireField field;
  for (protobuf::WireReader reader(message); !reader.done();) {
    if (!reader.next(field)) return false;
    if (field.number <= names.size()) out[names[field.number - 1]] = std::string(field.bytes);
  }
  return true;
}

} // namespace

Result<json> review_from_protobuf(std::string_view body) {
  const auto bad = [] { return fail(Code::bad_request, "the body is not a protobuf review"); };
  if (!body.starts_with(k_magic)) return bad();
  body.remove_prefix(k_magic.size());
  std::optional<std::string_view> type, kind, raw, spec, resource, path;
  if (!find(body, 1, type) || !find(body, 2, raw) || !type || !find(*type, 2, kind) || !kind)
    return bad();
  json out{{"kind", std::string(*kind)},
           {"apiVersion",
            *kind == "SelfSubjectReview" ? "authentication.k8s.io/v1" : "authorization.k8s.io/v1"},
           {"metadata", json::object()}};
  if (*kind == "SelfSubjectReview" || !raw) return out;
  out["spec"] = json::object();
  if (!find(*raw, 2, spec)) return bad();
  if (!spec) return out;
  if (*kind == "SelfSubjectRulesReview") {
    constexpr const char* names[] = {"namespace"};
    return texts(*spec, names, out["spec"]) ? Result<json>(out) : bad();
  }
  if (!find(*spec, 1, resource) || !find(*spec, 2, path)) return bad();
  if (resource && !texts(*resource, k_resource_fields, out["spec"]["resourceAttributes"]))
    return bad();
  if (path && !texts(*path, k_path_fields, out["spec"]["nonResourceAttributes"])) return bad();
  return out;
}

} // namespace zoo::admin
