// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// The generated table of protobuf messages, seen by the two converters only: what generated.proto
/// and the Go structs of k8s.io/api and its siblings say about the built-in kinds
/// (rules/messages.py reads them). Kinds are sorted by apiVersion and kind, a message's fields by
/// number.
namespace zoo::translate::protobuf {

/// How a field's value is read and written. From `time` on: messages that have a JSON of their own.
enum class Type : std::uint8_t {
  string,
  bytes, ///< base64 in JSON
  boolean,
  int32,
  int64,
  number, ///< double
  message,
  strings, ///< a message around `repeated string items = 1`; an array in JSON
  time,
  micro_time,
  quantity,
  int_or_string,
  json, ///< RawExtension, FieldsV1, JSON: field 1 is the text
  schema_or_array,
  schema_or_bool,
  schema_or_strings,
};

inline constexpr std::uint8_t k_repeated = 1;
inline constexpr std::uint8_t k_map = 2;    ///< map<string, type>
inline constexpr std::uint8_t k_inline = 4; ///< its fields stand in the object around it
/// A pointer in Go or a field without omitempty: zero is written. Else zero is left out.
inline constexpr std::uint8_t k_keeps_zero = 8;

struct Field {
  std::string_view name; ///< in JSON; ASCII that needs no escape
  std::uint16_t number;
  std::uint16_t message; ///< of Type::message; of Type::schema_or_*: JSONSchemaProps
  Type type;
  std::uint8_t flags;
};

struct Message {
  std::string_view name; ///< for errors
  std::uint16_t first;   ///< in `fields`
  std::uint16_t count;
};

struct Kind {
  std::string_view api_version; ///< empty: any (DeleteOptions)
  std::string_view kind;
  std::uint16_t message;
};

extern const Field fields[];
extern const Message messages[];
extern const std::size_t message_count;
extern const Kind kinds[];
extern const std::size_t kind_count;

/// In front of every body and answer (k8s.io/apimachinery pkg/runtime/serializer/protobuf).
inline constexpr std::string_view k_magic{"k8s\0", 4};

/// A message by its name: those that no kind is, but that kinds hold. The end of them if none is.
const Message* find_message(std::string_view name);
/// Null: the table does not have it.
const Kind* find_kind(std::string_view api_version, std::string_view kind);

} // namespace zoo::translate::protobuf
