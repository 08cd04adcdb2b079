// SPDX-License-Identifier: Apache-2.0
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

struct Field {
  std::uint32_t number = 0;
  std::string_view bytes; ///< of a length-delimited field; empty for others
};

std::optional<std::uint64_t> varint(std::string_view& in) {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return out;
  }
  return {};
}

/// The next field of a message; nothing if the bytes are no protobuf.
std::optional<Field> next(std::string_view& in) {
  const auto tag = varint(in);
  if (!tag || *tag > UINT32_MAX) return {};
  Field out;
  out.number = static_cast<std::uint32_t>(*tag >> 3);
  std::optional<std::uint64_t> length;
  switch (*tag & 7) {
  case 0:
    return varint(in) ? std::optional(out) : std::nullopt;
  case 1:
    length = 8;
    break;
  case 2:
    length = varint(in);
    break;
  case 5:
    length = 4;
    break;
  default:
    return {};
  }
  if (!length || *length > in.size()) return {};
  if ((*tag & 7) == 2) out.bytes = in.substr(0, *length);
  in.remove_prefix(*length);
  return out;
}

/// The last field of that number, if there is one. False if the bytes are no protobuf.
bool find(std::string_view message, std::uint32_t number, std::optional<std::string_view>& out) {
  while (!message.empty()) {
    const auto field = next(message);
    if (!field) return false;
    if (field->number == number) out = field->bytes;
  }
  return true;
}

bool texts(std::string_view message, std::span<const char* const> names, json& out) {
  while (!message.empty()) {
    const auto field = next(message);
    if (!field) return false;
    if (field->number >= 1 && field->number <= names.size())
      out[names[field->number - 1]] = std::string(field->bytes);
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
