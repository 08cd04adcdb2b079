// SPDX-License-Identifier: Apache-2.0
#include "common/kube/protobuf_wire.hpp"

namespace zoo::protobuf {

bool WireReader::long_varint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == text_.size()) return false;
    const auto byte = static_cast<unsigned char>(text_[at_++]);
    if (shift == 63 && byte > 1) return false; // more than 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::fixed(std::size_t width, std::uint64_t& value) {
  if (text_.size() - at_ < width) return false;
  value = 0;
  for (std::size_t i = 0; i < width; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text_[at_ + i])) << (8 * i);
  at_ += width;
  return true;
}

bool WireReader::next(WireField& field) {
  std::uint64_t tag = 0;
  if (!varint(tag)) return false;
  // Numbers end at 2^29 - 1 (protobuf.dev/programming-guides/proto2, "Assigning Field Numbers").
  if ((tag >> 3) == 0 || (tag >> 3) >= (std::uint64_t{1} << 29)) return false;
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.wire = static_cast<Wire>(tag & 7);
  field.value = 0;
  field.bytes = {};
  switch (field.wire) {
  case Wire::varint:
    return varint(field.value);
  case Wire::fixed64:
    return fixed(8, field.value);
  case Wire::fixed32:
    return fixed(4, field.value);
  case Wire::bytes: {
    std::uint64_t size = 0;
    if (!varint(size) || size > text_.size() - at_) return false;
    field.bytes = text_.substr(at_, size);
    at_ += size;
    return true;
  }
  }
  return false;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, field << 3);
  put_varint(out, value);
}

void put_fixed64(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, field << 3 | 1);
  for (int i = 0; i < 8; ++i)
    out += static_cast<char>(value >> (8 * i));
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view value) {
  put_varint(out, field << 3 | 2);
  put_varint(out, value.size());
  out += value;
}

} // namespace zoo::protobuf
