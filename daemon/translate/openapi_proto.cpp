// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/openapi_proto.hpp"

#include "common/base/text.hpp"
#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <utility>

namespace zoo::translate {
namespace {

/// One message on the wire: fields in the order of the calls; what is not there is left out.
class Message {
public:
  Message& bytes(std::uint32_t field, std::string_view value) {
    zoo::protobuf::put_bytes(out_, field, value);
    return *this;
  }
  Message& text(std::uint32_t field, JsonNode node) {
    if (node.is(JsonType::string)) bytes(field, node.string());
    return *this;
  }
  Message& texts(std::uint32_t field, JsonNode array) {
    for (auto each = array.first(); each; each = each.next())
      bytes(field, each.string());
    return *this;
  }
  Message& boolean(std::uint32_t field, bool value) {
    return value ? number(field, std::uint64_t{1}) : *this;
  }
  Message& integer(std::uint32_t field, JsonNode node) {
    const auto value = node.integer();
    return value ? number(field, static_cast<std::uint64_t>(*value)) : *this;
  }
  Message& real(std::uint32_t field, JsonNode node) {
    if (!node.is(JsonType::number)) return *this;
    double value = 0;
    const auto raw = node.raw();
    std::from_chars(raw.data(), raw.data() + raw.size(), value);
    zoo::protobuf::put_fixed64(out_, field, std::bit_cast<std::uint64_t>(value));
    return *this;
  }
  /// Any{yaml}: JSON is YAML.
  Message& any(std::uint32_t field, JsonNode node) {
    if (node) bytes(field, yaml(node));
    return *this;
  }
  Message& anys(std::uint32_t field, JsonNode array) {
    for (auto each = array.first(); each; each = each.next())
      bytes(field, yaml(each));
    return *this;
  }
  /// NamedAny of every member that begins with "x-".
  Message& extensions(std::uint32_t field, JsonNode object) {
    for (auto member = object.first(); member; member = member.next()) {
      const auto key = member.key();
      if (key.starts_with("x-"))
        bytes(field, Message().bytes(1, key).bytes(2, yaml(member)).take());
    }
    return *this;
  }
  std::string take() { return std::move(out_); }

private:
  static std::string yaml(JsonNode node) {
    return Message().bytes(2, std::string(node.raw()) + "\n").take();
  }
  Message& number(std::uint32_t field, std::uint64_t value) {
    zoo::protobuf::put_number(out_, field, value);
    return *this;
  }
  std::string out_;
};

std::string named(std::string_view name, const std::string& value) {
  return Message().bytes(1, name).bytes(2, value).take();
}

/// Field numbers that schemas and parameters have apart.
struct ValidationFields {
  std::uint32_t maximum, exclusive_maximum, minimum, exclusive_minimum, max_length, min_length,
      pattern, max_items, min_items, unique_items, enumeration, multiple_of;
};
constexpr ValidationFields k_of_schema{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 20, 6};
constexpr ValidationFields k_of_query{11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22};
constexpr ValidationFields k_of_path{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};

void validations(Message& out, JsonNode node, const ValidationFields& at) {
  out.real(at.maximum, node["maximum"])
      .boolean(at.exclusive_maximum, node["exclusiveMaximum"].boolean())
      .real(at.minimum, node["minimum"])
      .boolean(at.exclusive_minimum, node["exclusiveMinimum"].boolean())
      .integer(at.max_length, node["maxLength"])
      .integer(at.min_length, node["minLength"])
      .text(at.pattern, node["pattern"])
      .integer(at.max_items, node["maxItems"])
      .integer(at.min_items, node["minItems"])
      .boolean(at.unique_items, node["uniqueItems"].boolean())
      .anys(at.enumeration, node["enum"])
      .real(at.multiple_of, node["multipleOf"]);
}

/// As deep as openapi_v2_part() writes schemas.
std::string schema(JsonNode node) {
  Message out;
  out.text(1, node["$ref"])
      .text(2, node["format"])
      .text(3, node["title"])
      .text(4, node["description"]);
  validations(out, node, k_of_schema);
  out.integer(17, node["maxProperties"])
      .integer(18, node["minProperties"])
      .texts(19, node["required"]);
  if (const auto more = node["additionalProperties"]) {
    out.bytes(21, more.is(JsonType::object) ? Message().bytes(1, schema(more)).take()
                                            : Message().boolean(2, more.boolean()).take());
  }
  if (const auto type = node["type"]) out.bytes(22, Message().text(1, type).take());
  if (const auto items = node["items"]) out.bytes(23, Message().bytes(1, schema(items)).take());
  if (const auto properties = node["properties"]) {
    Message all;
    for (auto each = properties.first(); each; each = each.next())
      all.bytes(1, named(each.key(), schema(each)));
    out.bytes(25, all.take());
  }
  return out.any(30, node["example"]).extensions(31, node).take();
}

/// A Parameter.
std::string parameter(JsonNode node) {
  const auto where = node["in"].string();
  const bool required = node["required"].boolean();
  if (where == "body") {
    Message body;
    body.text(1, node["description"]).text(2, node["name"]).text(3, node["in"]);
    body.boolean(4, required).bytes(5, schema(node["schema"])).extensions(6, node);
    return Message().bytes(1, body.take()).take();
  }
  const bool path = where == "path";
  Message plain;
  plain.boolean(1, required).text(2, node["in"]).text(3, node["description"]);
  plain.text(4, node["name"]).text(path ? 5 : 6, node["type"]).text(path ? 6 : 7, node["format"]);
  validations(plain, node, path ? k_of_path : k_of_query);
  plain.extensions(path ? 22 : 23, node);
  return Message().bytes(2, Message().bytes(path ? 4 : 3, plain.take()).take()).take();
}

void parameters(Message& out, std::uint32_t field, JsonNode list) {
  for (auto each = list.first(); each; each = each.next()) {
    const auto reference = each["$ref"];
    out.bytes(field, reference ? Message().bytes(2, Message().text(1, reference).take()).take()
                               : Message().bytes(1, parameter(each)).take());
  }
}

std::string responses(JsonNode node) {
  Message out;
  for (auto each = node.first(); each; each = each.next()) {
    Message one;
    one.text(1, each["description"]);
    if (const auto of = each["schema"]) one.bytes(2, Message().bytes(1, schema(of)).take());
    out.bytes(1, named(each.key(), Message().bytes(1, one.take()).take()));
  }
  return out.take();
}

std::string operation(JsonNode node) {
  Message out;
  out.texts(1, node["tags"])
      .text(2, node["summary"])
      .text(3, node["description"])
      .text(5, node["operationId"])
      .texts(6, node["produces"])
      .texts(7, node["consumes"]);
  parameters(out, 8, node["parameters"]);
  out.bytes(9, responses(node["responses"])).texts(10, node["schemes"]);
  return out.boolean(11, node["deprecated"].boolean()).extensions(13, node).take();
}

std::string path_item(JsonNode node) {
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 7> k_methods = {{{"get", 2},
                                                                                    {"put", 3},
                                                                                    {"post", 4},
                                                                                    {"delete", 5},
                                                                                    {"options", 6},
                                                                                    {"head", 7},
                                                                                    {"patch", 8}}};
  Message out;
  for (const auto& [method, field] : k_methods) {
    if (const auto at = node[method]) out.bytes(field, operation(at));
  }
  parameters(out, 9, node["parameters"]);
  return out.extensions(10, node).take();
}

/// Field `field`, a message of `inner`: named values.
template <typename Encode>
void members(Message& out, std::uint32_t field, std::uint32_t inner, const JsonMembers& all,
             const JsonMembers* known, Encode encode) {
  Message body;
  for (const auto& [name, text] : all) {
    if (known != nullptr && known->contains(name)) continue;
    if (const auto tree = JsonTree::parse(text)) {
      body.bytes(inner, named(name, encode(tree->root())));
    }
  }
  const auto bytes = body.take();
  if (!bytes.empty()) out.bytes(field, bytes);
}

} // namespace

std::string openapi_v2_proto_begin(std::string_view version) {
  const auto info = Message().bytes(1, "Kubernetes").bytes(2, version).take();
  return Message().bytes(1, "2.0").bytes(2, info).take();
}

std::string openapi_v2_proto(const OpenApiPart& part, const OpenApiPart* known) {
  Message out;
  members(out, 8, 2, part.paths, known ? &known->paths : nullptr, path_item);
  members(out, 9, 1, part.definitions, known ? &known->definitions : nullptr, schema);
  members(out, 10, 1, part.parameters, known ? &known->parameters : nullptr, parameter);
  return out.take();
}

std::string_view openapi_v2_proto_type(std::string_view accept) {
  constexpr std::array<std::string_view, 2> k_types = {
      "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
      "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"};
  for (auto clause : text::split(accept, ',')) {
    clause = text::trim(clause.substr(0, clause.find(';')));
    for (const auto type : k_types) {
      // Go's mime package refuses the "@" that old clients ask with.
      if (text::iequals(clause, type)) return k_types.back();
    }
    // The first that can be served decides, as with upstream.
    if (clause == "application/json" || clause == "*/*" || clause == "application/*") return "";
  }
  return "";
}

} // namespace zoo::translate
