// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/json_protobuf.hpp"

#include "common/crypto/digest.hpp"
#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/protobuf_table.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace zoo::translate {
namespace {

using namespace protobuf;
using namespace zoo::protobuf;

constexpr int k_max_depth = 100;

tl::unexpected<Error> wrong(std::string_view name) {
  return fail(Code::internal, "the answer has a value in {} that protobuf cannot say", name);
}

/// "2026-01-02T03:04:05Z" or ".000006Z", as Kubernetes writes times -> a Timestamp.
std::optional<std::string> instant(std::string_view text) {
  int part[6] = {};
  constexpr std::pair<std::size_t, std::size_t> k_places[6] = {{0, 4},  {5, 2},  {8, 2},
                                                               {11, 2}, {14, 2}, {17, 2}};
  if (text.size() < 20 || text.back() != 'Z') return std::nullopt;
  for (std::size_t i = 0; i < 6; ++i) {
    const auto digits = text.substr(k_places[i].first, k_places[i].second);
    const auto end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, part[i]).ptr != end) return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date{year(part[0]), month(static_cast<unsigned>(part[1])),
                            day(static_cast<unsigned>(part[2]))};
  if (!date.ok()) return std::nullopt;
  const auto seconds = sys_days(date).time_since_epoch() + hours(part[3]) + minutes(part[4]) +
                       std::chrono::seconds(part[5]);
  std::uint64_t nanos = 0;
  if (text[19] == '.') {
    auto fraction = std::string(text.substr(20, text.size() - 21));
    fraction.resize(9, '0');
    if (std::from_chars(fraction.data(), fraction.data() + 9, nanos).ptr != fraction.data() + 9)
      return std::nullopt;
  }
  std::string out;
  put_number(out, 1,
             static_cast<std::uint64_t>(duration_cast<std::chrono::seconds>(seconds).count()));
  put_number(out, 2, nanos);
  return out;
}

Result<std::string> message_of(const Message& message, JsonNode object, int depth);

/// The three choices of apiextensions (protobuf_json.cpp reads them).
Result<std::string> schema_or(const Field& field, JsonNode node, int depth) {
  const bool flag = field.type == Type::schema_or_bool;
  std::string out;
  if (flag && node.is(JsonType::boolean)) {
    put_number(out, 1, node.boolean() ? 1 : 0);
    return out;
  }
  if (node.is(JsonType::object)) {
    ZOO_TRY(const auto schema, message_of(messages[field.message], node, depth + 1));
    if (flag) put_number(out, 1, 1);
    put_bytes(out, flag ? 2 : 1, schema);
    return out;
  }
  for (auto each = node.first(); each; each = each.next()) {
    if (field.type == Type::schema_or_strings) {
      put_bytes(out, 2, each.string());
    } else {
      ZOO_TRY(const auto schema, message_of(messages[field.message], each, depth + 1));
      put_bytes(out, 2, schema);
    }
  }
  return out;
}

/// The bytes of a value whose wire type is "bytes".
Result<std::string> bytes_of(const Field& field, JsonNode node, int depth) {
  std::string out;
  switch (field.type) {
  case Type::string:
    if (!node.is(JsonType::string)) return wrong(field.name);
    return node.string();
  case Type::bytes:
    return crypto::base64_decode(node.string());
  case Type::message:
    return message_of(messages[field.message], node, depth + 1);
  case Type::strings:
    for (auto each = node.first(); each; each = each.next())
      put_bytes(out, 1, each.string());
    return out;
  case Type::time:
  case Type::micro_time:
    if (auto time = instant(node.string())) return *std::move(time);
    return wrong(field.name);
  case Type::quantity: // a number may stand there too
    put_bytes(out, 1, node.is(JsonType::string) ? node.string() : std::string(node.raw()));
    return out;
  case Type::int_or_string:
    if (node.is(JsonType::string)) {
      put_number(out, 1, 1);
      put_number(out, 2, 0);
      put_bytes(out, 3, node.string());
    } else {
      put_number(out, 1, 0);
      put_number(out, 2, static_cast<std::uint64_t>(node.integer().value_or(0)));
      put_bytes(out, 3, "");
    }
    return out;
  case Type::json:
    put_bytes(out, 1, node.raw());
    return out;
  case Type::schema_or_array:
  case Type::schema_or_bool:
  case Type::schema_or_strings:
    return schema_or(field, node, depth);
  default:
    return wrong(field.name);
  }
}

Result<void> put_value(std::string& out, const Field& field, std::uint32_t number, JsonNode node,
                       int depth) {
  switch (field.type) {
  case Type::boolean:
    put_number(out, number, node.boolean() ? 1 : 0);
    return {};
  case Type::int32:
  case Type::int64: {
    const auto value = node.integer();
    if (!value) return wrong(field.name);
    put_number(out, number, static_cast<std::uint64_t>(*value)); // a negative one takes ten bytes
    return {};
  }
  case Type::number: {
    double value = 0;
    const auto raw = node.raw();
    if (!node.is(JsonType::number)) return wrong(field.name);
    std::from_chars(raw.data(), raw.data() + raw.size(), value);
    put_fixed64(out, number, std::bit_cast<std::uint64_t>(value));
    return {};
  }
  default: {
    ZOO_TRY(const auto bytes, bytes_of(field, node, depth));
    put_bytes(out, number, bytes);
    return {};
  }
  }
}

Result<std::string> message_of(const Message& message, JsonNode object, int depth) {
  if (depth > k_max_depth) return fail(Code::not_acceptable, "the object nests too deeply");
  if (!object.is(JsonType::object)) return wrong(message.name);
  std::string out;
  for (std::size_t i = message.first; i < std::size_t{message.first} + message.count; ++i) {
    const auto& field = fields[i];
    if ((field.flags & k_inline) != 0) {
      ZOO_TRY(const auto inner, message_of(messages[field.message], object, depth + 1));
      put_bytes(out, field.number, inner);
      continue;
    }
    const auto node = object[field.name];
    if (!node || node.is(JsonType::null)) continue;
    if ((field.flags & k_map) != 0) {
      for (auto member = node.first(); member; member = member.next()) {
        std::string entry;
        put_bytes(entry, 1, member.key());
        if (!member.is(JsonType::null)) ZOO_TRY_VOID(put_value(entry, field, 2, member, depth));
        put_bytes(out, field.number, entry);
      }
    } else if ((field.flags & k_repeated) != 0) {
      for (auto each = node.first(); each; each = each.next())
        ZOO_TRY_VOID(put_value(out, field, field.number, each, depth));
    } else {
      ZOO_TRY_VOID(put_value(out, field, field.number, node, depth));
    }
  }
  return out;
}

const Message& object_meta() {
  static const Message* const found = find_message("ObjectMeta");
  return *found;
}
/// Of lists and Status. ConversionReview holds a Status, and so it is in the table.
const Message& list_meta() {
  static const Message* const found = find_message("ListMeta");
  return *found;
}
const Message& status() {
  static const Message* const found = find_message("Status");
  return *found;
}

/// The object without its envelope.
Result<std::string> encode(std::string_view api_version, std::string_view kind, JsonNode object,
                           int depth) {
  if (kind == "Status" && api_version == "v1") return message_of(status(), object, depth);
  const auto* known = find_kind(api_version, kind);
  if (known == nullptr) known = find_kind("", kind); // DeleteOptions, of any group
  if (known != nullptr) return message_of(messages[known->message], object, depth);
  std::string out;
  if (kind == "PartialObjectMetadata") {
    ZOO_TRY(const auto metadata, message_of(object_meta(), object["metadata"], depth + 1));
    put_bytes(out, 1, metadata);
    return out;
  }
  if (!kind.ends_with("List") || !object["items"]) {
    return fail(Code::not_acceptable, "{} {} has no protobuf: add application/json to Accept",
                api_version, kind);
  }
  if (const auto metadata = object["metadata"]; metadata.is(JsonType::object)) {
    ZOO_TRY(const auto bytes, message_of(list_meta(), metadata, depth + 1));
    put_bytes(out, 1, bytes);
  }
  const auto item_kind = kind.substr(0, kind.size() - 4);
  for (auto item = object["items"].first(); item; item = item.next()) {
    ZOO_TRY(const auto bytes, encode(api_version, item_kind, item, depth + 1));
    put_bytes(out, 2, bytes);
  }
  return out;
}

Result<std::string> envelope(JsonNode object) {
  const auto api_version = object["apiVersion"].string(), kind = object["kind"].string();
  ZOO_TRY(const auto raw, encode(api_version, kind, object, 0));
  std::string type;
  put_bytes(type, 1, api_version);
  put_bytes(type, 2, kind);
  std::string out(k_magic);
  put_bytes(out, 1, type);
  put_bytes(out, 2, raw);
  put_bytes(out, 3, "");
  put_bytes(out, 4, "");
  return out;
}

} // namespace

bool has_protobuf(std::string_view api_version, std::string_view kind) {
  return find_kind(api_version, kind) != nullptr;
}

Result<std::string> json_to_protobuf(std::string_view object) {
  ZOO_TRY(const auto tree, JsonTree::parse(object));
  return envelope(tree.root());
}

Result<std::string> event_to_protobuf(std::string_view event) {
  ZOO_TRY(const auto tree, JsonTree::parse(event));
  ZOO_TRY(const auto object, envelope(tree.root()["object"]));
  std::string raw;
  put_bytes(raw, 1, object);
  std::string message;
  put_bytes(message, 1, tree.root()["type"].string());
  put_bytes(message, 2, raw);
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(message.size() >> shift);
  return out + message;
}

} // namespace zoo::translate
