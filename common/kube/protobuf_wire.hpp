// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The protobuf wire format (protobuf.dev/programming-guides/encoding), one field at a time. Groups
/// (wire types 3 and 4), which proto2 gave up, count as broken. Views into the bytes; any thread.
namespace zoo::protobuf {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  Wire wire = Wire::varint;
  std::uint64_t value = 0; ///< unless Wire::bytes
  std::string_view bytes;  ///< of Wire::bytes
};

class WireReader {
public:
  explicit WireReader(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  bool done() const { return at_ == text_.size(); }
  std::size_t offset() const { return at_; }
  /// Reads the next field; false: the bytes are no protobuf. Not after done().
  bool next(WireField& field);
  bool varint(std::uint64_t& value) {
    const bool small = at_ != text_.size() && static_cast<unsigned char>(text_[at_]) < 0x80;
    if (!small) return long_varint(value);
    value = static_cast<unsigned char>(text_[at_++]);
    return true;
  }
  bool fixed(std::size_t width, std::uint64_t& value); ///< little-endian, 4 or 8 bytes

private:
  bool long_varint(std::uint64_t& value);

  std::string_view text_;
  std::size_t at_;
};

/// Writers: each appends one field to `out`.
void put_varint(std::string& out, std::uint64_t value); ///< without a tag
void put_number(std::string& out, std::uint32_t field, std::uint64_t value);
void put_fixed64(std::string& out, std::uint32_t field, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t field, std::string_view value);

} // namespace zoo::protobuf
