// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/wire_list.hpp"

#include <algorithm>
#include <string>
#include <string_view>

/// What the unit test and the fuzz target of daemon/translate/wire_list have in common. Pure.
namespace zoo::translate {

/// A whole list, fed in pieces of `step` bytes.
inline Result<std::string> list_in_pieces(const WireContext& context, std::string_view bytes,
                                          std::size_t step, std::size_t most = 1u << 20) {
  WireList list(context, most);
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size())))
    ZOO_TRY_VOID(list.feed(bytes.substr(0, step), out));
  ZOO_TRY_VOID(list.finish(out));
  return out;
}

/// The same list without its filler, with the length that it then has. Empty: its lengths are
/// wrong.
inline std::string without_filler(std::string_view bytes) {
  using zoo::protobuf::put_bytes;
  using zoo::protobuf::WireField;
  using zoo::protobuf::WireReader;
  constexpr std::size_t k_magic_size = 4;
  std::string out(bytes.substr(0, k_magic_size));
  WireReader envelope(bytes, k_magic_size);
  for (WireField each; !envelope.done();) {
    const auto from = envelope.offset();
    if (!envelope.next(each)) return {};
    if (each.number != 2) {
      out += bytes.substr(from, envelope.offset() - from);
      continue;
    }
    std::string kept;
    WireReader list(each.bytes);
    for (WireField field; !list.done();) {
      const auto begin = list.offset();
      if (!list.next(field)) return {};
      if (field.number != k_filler_field) kept += each.bytes.substr(begin, list.offset() - begin);
    }
    put_bytes(out, 2, kept);
  }
  return out;
}

} // namespace zoo::translate
