// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/openapi_proto.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace zoo::translate;

namespace {

/// A field of a message, of less than 128 bytes.
std::string f(int field, const std::string& value) {
  std::string out;
  const int tag = field << 3 | 2;
  if (tag >= 0x80) {
    out += static_cast<char>((tag & 0x7f) | 0x80);
    out += static_cast<char>(tag >> 7);
  } else {
    out += static_cast<char>(tag);
  }
  REQUIRE(value.size() < 0x80);
  out += static_cast<char>(value.size());
  return out + value;
}

/// A number of less than 128.
std::string n(int field, int value) {
  const int tag = field << 3;
  std::string out;
  if (tag >= 0x80) {
    out += static_cast<char>((tag & 0x7f) | 0x80);
    out += static_cast<char>(tag >> 7);
  } else {
    out += static_cast<char>(tag);
  }
  return out + static_cast<char>(value);
}

std::string definition(const char* schema) {
  OpenApiPart part;
  part.definitions.emplace("d", schema);
  return openapi_v2_proto(part);
}
std::string of_schema(const std::string& fields) { return f(9, f(1, f(1, "d") + f(2, fields))); }

} // namespace

// Field numbers: openapiv2/OpenAPIv2.proto of gnostic-models.
TEST_CASE("schemas in protobuf") {
  CHECK(openapi_v2_proto_begin("v1.36") == f(1, "2.0") + f(2, f(1, "Kubernetes") + f(2, "v1.36")));
  CHECK(definition(R"({"type":"string","description":"\u00e9","format":"f"})") ==
        of_schema(f(2, "f") + f(4, "\xc3\xa9") + f(22, f(1, "string"))));
  CHECK(definition(R"({"$ref":"#/definitions/x"})") == of_schema(f(1, "#/definitions/x")));
  CHECK(definition(R"({"type":"array","items":{"type":"integer"},"maxItems":3})") ==
        of_schema(n(14, 3) + f(22, f(1, "array")) + f(23, f(1, f(22, f(1, "integer"))))));
  CHECK(definition(R"({"properties":{"p":{"uniqueItems":true}},"required":["p"]})") ==
        of_schema(f(19, "p") + f(25, f(1, f(1, "p") + f(2, n(16, 1))))));
  CHECK(definition(R"({"additionalProperties":{"type":"string"}})") ==
        of_schema(f(21, f(1, f(22, f(1, "string"))))));
  CHECK(definition(R"({"additionalProperties":true})") == of_schema(f(21, n(2, 1))));
  CHECK(definition(R"({"x-kubernetes-group-version-kind":[{"kind":"K"}]})") ==
        of_schema(
            f(31, f(1, "x-kubernetes-group-version-kind") + f(2, f(2, "[{\"kind\":\"K\"}]\n")))));
  CHECK(definition(R"({"minimum":1.5})") == of_schema(std::string("\x49\0\0\0\0\0\0\xf8\x3f", 9)));
}

TEST_CASE("paths in protobuf") {
  OpenApiPart part;
  part.paths.emplace("/a/", R"({"get":{"operationId":"x","consumes":["*/*"],
      "responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/x"}}}},
      "parameters":[{"$ref":"#/parameters/p"}]})");
  const auto get =
      f(5, "x") + f(7, "*/*") +
      f(9, f(1, f(1, "200") + f(2, f(1, f(1, "OK") + f(2, f(1, f(1, "#/definitions/x"))))))) + "";
  CHECK(openapi_v2_proto(part) ==
        f(8, f(2, f(1, "/a/") + f(2, f(2, get) + f(9, f(2, f(1, "#/parameters/p")))))));
  CHECK(openapi_v2_proto(part, &part).empty());

  OpenApiPart shared;
  shared.parameters.emplace(
      "q", R"({"name":"q","in":"query","type":"string","uniqueItems":true,"required":true})");
  CHECK(openapi_v2_proto(shared) ==
        f(10, f(1, f(1, "q") + f(2, f(2, f(3, n(1, 1) + f(2, "query") + f(4, "q") + f(6, "string") +
                                                  n(20, 1)))))));
}

TEST_CASE("the first media type that can be served decides") {
  constexpr std::string_view k_old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  constexpr std::string_view k_new = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  CHECK(openapi_v2_proto_type(k_old) == k_new); // what Go can parse
  CHECK(openapi_v2_proto_type(k_new) == k_new);
  CHECK(openapi_v2_proto_type("application/cbor, " + std::string(k_old)) == k_new);
  CHECK(openapi_v2_proto_type("application/json, " + std::string(k_old)).empty());
  CHECK(openapi_v2_proto_type("*/*").empty());
  CHECK(openapi_v2_proto_type("").empty());
}
