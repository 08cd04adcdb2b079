// SPDX-License-Identifier: Apache-2.0
#include "common/kube/protobuf_wire.hpp"
#include "daemon/resources/openapi.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>

namespace zoo::resources {
namespace {

using nlohmann::json;

// Field numbers: google/gnostic-models, openapiv2/OpenAPIv2.proto.

/// One message on the wire: fields are appended in the order of the calls.
class Message {
public:
  Message& bytes(std::uint32_t field, std::string_view value) {
    protobuf::put_bytes(out_, field, value);
    return *this;
  }
  Message& boolean(std::uint32_t field, bool value) {
    if (value) protobuf::put_number(out_, field, 1);
    return *this;
  }
  Message& text(std::uint32_t field, const json& object, const char* key) {
    if (const auto at = object.find(key); at != object.end() && at->is_string())
      bytes(field, at->get_ref<const std::string&>());
    return *this;
  }
  Message& texts(std::uint32_t field, const json& object, const char* key) {
    if (const auto at = object.find(key); at != object.end())
      for (const auto& each : *at)
        bytes(field, each.get_ref<const std::string&>());
    return *this;
  }
  /// NamedAny{name = 1, value = Any{yaml = 2}} for each x- member.
  Message& extensions(std::uint32_t field, const json& object) {
    for (const auto& [key, value] : object.items()) {
      if (!key.starts_with("x-")) continue;
      const auto any = Message().bytes(2, value.dump() + "\n").take();
      bytes(field, Message().bytes(1, key).bytes(2, any).take());
    }
    return *this;
  }
  std::string take() { return std::move(out_); }

private:
  std::string out_;
};

std::string named(const std::string& name, const std::string& value) {
  return Message().bytes(1, name).bytes(2, value).take();
}

std::string schema(const json& object) {
  Message out;
  out.text(1, object, "$ref").text(2, object, "format").text(4, object, "description");
  if (const auto at = object.find("additionalProperties"); at != object.end())
    out.bytes(21, Message().bytes(1, schema(*at)).take());
  if (object.contains("type")) out.bytes(22, Message().text(1, object, "type").take());
  if (const auto at = object.find("items"); at != object.end())
    out.bytes(23, Message().bytes(1, schema(*at)).take());
  if (const auto at = object.find("properties"); at != object.end()) {
    Message properties;
    for (const auto& [key, value] : at->items())
      properties.bytes(1, named(key, schema(value)));
    out.bytes(25, properties.take());
  }
  return out.extensions(31, object).take();
}

std::string parameter(const json& object) {
  const bool required = object.value("required", false);
  const auto where = object.at("in").get<std::string>();
  if (where == "body") {
    const auto body = Message()
                          .text(1, object, "description")
                          .text(2, object, "name")
                          .text(3, object, "in")
                          .boolean(4, required)
                          .bytes(5, schema(object.at("schema")))
                          .take();
    return Message().bytes(1, Message().bytes(1, body).take()).take();
  }
  const bool path = where == "path";
  const auto plain = Message()
                         .boolean(1, required)
                         .text(2, object, "in")
                         .text(3, object, "description")
                         .text(4, object, "name")
                         .text(path ? 5 : 6, object, "type")
                         .boolean(path ? 19 : 20, object.value("uniqueItems", false))
                         .take();
  const auto other = Message().bytes(path ? 4 : 3, plain).take();
  return Message().bytes(1, Message().bytes(2, other).take()).take();
}

std::string responses(const json& object) {
  Message out;
  for (const auto& [code, response] : object.items()) {
    Message one;
    one.text(1, response, "description");
    if (const auto at = response.find("schema"); at != response.end())
      one.bytes(2, Message().bytes(1, schema(*at)).take());
    out.bytes(1, named(code, Message().bytes(1, one.take()).take()));
  }
  return out.take();
}

std::string operation(const json& object) {
  Message out;
  out.texts(1, object, "tags").text(3, object, "description").text(5, object, "operationId");
  out.texts(6, object, "produces").texts(7, object, "consumes");
  for (const auto& each : object.at("parameters"))
    out.bytes(8, parameter(each));
  return out.bytes(9, responses(object.at("responses"))).extensions(13, object).take();
}

std::string path_item(const json& object) {
  Message out;
  constexpr std::pair<const char*, std::uint32_t> methods[] = {
      {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  for (const auto& [method, field] : methods)
    if (const auto at = object.find(method); at != object.end()) out.bytes(field, operation(*at));
  if (const auto at = object.find("parameters"); at != object.end())
    for (const auto& each : *at)
      out.bytes(9, parameter(each));
  return out.take();
}

} // namespace

std::string openapi_v2_protobuf(const json& document) {
  Message info, paths, definitions;
  info.text(1, document.at("info"), "title").text(2, document.at("info"), "version");
  for (const auto& [path, item] : document.at("paths").items())
    paths.bytes(2, named(path, path_item(item)));
  for (const auto& [name, value] : document.at("definitions").items())
    definitions.bytes(1, named(name, schema(value)));
  return Message()
      .text(1, document, "swagger")
      .bytes(2, info.take())
      .bytes(8, paths.take())
      .bytes(9, definitions.take())
      .take();
}

} // namespace zoo::resources
