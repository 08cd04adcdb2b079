// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/wire_list.hpp"

#include "common/kube/protobuf_wire.hpp"
#include "daemon/translate/protobuf_table.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::translate {
namespace {

using protobuf::k_magic;
using zoo::protobuf::put_varint;
using zoo::protobuf::Wire;
using zoo::protobuf::WireField;
using zoo::protobuf::WireReader;

constexpr std::size_t k_most_head = 4096;
constexpr std::size_t k_most_varint = 10;
constexpr std::size_t k_filler_head = 6; ///< bytes of the filler's tag and length
constexpr std::size_t k_longest_item = std::size_t{1} << 27;

constexpr std::uint64_t tag_of(std::uint32_t field) {
  return std::uint64_t{field} << 3 | static_cast<unsigned>(Wire::bytes);
}

/// How long the field is that begins here; 0: its beginning does not say yet. nullopt: none does.
std::optional<std::uint64_t> field_size(std::string_view begin) {
  WireReader reader(begin);
  std::uint64_t tag = 0, value = 0;
  const auto cut = [begin](std::size_t from) {
    return begin.size() - from < k_most_varint ? std::optional<std::uint64_t>(0) : std::nullopt;
  };
  if (!reader.varint(tag)) return cut(0);
  const auto at = reader.offset();
  switch (static_cast<Wire>(tag & 7U)) {
  case Wire::varint:
    return reader.varint(value) ? reader.offset() : cut(at);
  case Wire::fixed64:
    return at + 8;
  case Wire::fixed32:
    return at + 4;
  case Wire::bytes:
    if (!reader.varint(value)) return cut(at);
    return value <= k_longest_item ? std::optional(reader.offset() + value) : std::nullopt;
  }
  return std::nullopt;
}

/// Zeros with their tag and a length of always four bytes: so every size from k_filler_head on can
/// be had.
void put_filler(std::string& out, std::uint64_t size) {
  put_varint(out, tag_of(k_filler_field));
  const auto zeros = static_cast<std::size_t>(size - k_filler_head);
  for (unsigned i = 0; i < 4; ++i)
    out += static_cast<char>((zeros >> (7 * i) & 0x7FU) | (i < 3 ? 0x80U : 0U));
  out.append(zeros, '\0');
}

} // namespace

WireList::WireList(WireContext context, std::size_t most)
    : context_(std::move(context)), most_(std::min(most, k_longest_item)) {
  constexpr std::uint64_t k_lengths = 16; // of the value, and of what stands around it
  const auto* authorities = context_.mapping.root_ca();
  if (authorities != nullptr && context_.root.kind == "ConfigMap" && context_.root.group.empty())
    reserve_ = authorities->size() + k_lengths;
}

tl::unexpected<Error> WireList::wrong() const {
  return fail(Code::internal, "the upstream's answer is not a list of {} in protobuf",
              context_.root.kind);
}

Result<void> WireList::feed(std::string_view bytes, std::string& out) {
  std::string behind;
  if (item_ == nullptr) {
    held_ += bytes;
    ZOO_TRY(const auto size, read_head());
    if (size == 0) return {};
    behind = held_.substr(size);
    held_.clear();
    bytes = behind;
    if (left_ == 0) say_length(0, out);
  }
  while (left_ > 0 && !bytes.empty())
    ZOO_TRY_VOID(take_field(bytes, out));
  if (left_ > 0) return {};
  held_ += bytes; // what the envelope says behind the list: two empty fields
  if (held_.size() > k_most_head) return wrong();
  return {};
}

Result<void> WireList::finish(std::string& out) {
  if (item_ == nullptr || left_ > 0)
    return fail(Code::internal, "the upstream's answer ended within its list");
  WireReader behind(held_);
  for (WireField field; !behind.done();) {
    if (!behind.next(field) || field.number <= 2) return wrong(); // no second list
  }
  out += std::exchange(held_, {});
  return {};
}

/// "k8s\0", the list's type, and its length: k8s.io/apimachinery pkg/runtime Unknown. Its size, or
/// 0 while some is missing.
Result<std::size_t> WireList::read_head() {
  const std::string_view head = held_;
  if (head.substr(0, k_magic.size()) != k_magic.substr(0, head.size())) return wrong();
  if (head.size() < k_magic.size()) return 0;
  const auto type_size = field_size(head.substr(k_magic.size()));
  if (!type_size || *type_size > k_most_head) return wrong();
  WireReader reader(head, k_magic.size());
  WireField type;
  std::uint64_t tag = 0;
  if (*type_size == 0 || head.size() - k_magic.size() < *type_size) return 0;
  if (!reader.next(type) || type.number != 1 || type.wire != Wire::bytes) return wrong();
  if (reader.done()) return 0;
  const auto before = reader.offset();
  const bool tagged = reader.varint(tag);
  const auto length_at = reader.offset();
  if (!tagged || !reader.varint(left_))
    return head.size() - before < 2 * k_most_varint ? Result<std::size_t>(0) : wrong();
  if (tag != tag_of(2)) return wrong();

  std::string_view api_version, kind;
  WireReader names(type.bytes);
  for (WireField name; !names.done();) {
    if (!names.next(name)) return wrong();
    if (name.number == 1) api_version = name.bytes;
    if (name.number == 2) kind = name.bytes;
  }
  const auto* item = protobuf::find_kind(api_version, context_.root.kind);
  if (item == nullptr || kind != std::string(context_.root.kind) + "List") return wrong();
  item_ = &protobuf::messages[item->message];
  head_ = head.substr(0, length_at);
  return reader.offset();
}

/// Takes a field off `bytes`, or what there is of it.
Result<void> WireList::take_field(std::string_view& bytes, std::string& out) {
  const bool began = !held_.empty();
  auto size = field_size(began ? std::string_view(held_) : bytes);
  while (began && size && *size == 0 && !bytes.empty()) { // its beginning lies in two pieces
    held_ += bytes.front();
    bytes.remove_prefix(1);
    size = field_size(held_);
  }
  if (!size || *size > left_) return wrong();
  if (*size > most_)
    return fail(Code::too_large, "an object of the upstream's answer has more than {} bytes",
                most_);
  const auto missing = static_cast<std::size_t>(*size) - std::min<std::size_t>(held_.size(), *size);
  if (!began && *size > 0 && *size <= bytes.size()) {
    const auto whole = bytes.substr(0, static_cast<std::size_t>(*size));
    bytes.remove_prefix(whole.size());
    return put_field(whole, out);
  }
  const auto part = *size == 0 ? bytes : bytes.substr(0, missing);
  held_.reserve(static_cast<std::size_t>(*size));
  held_ += part;
  bytes.remove_prefix(part.size());
  if (*size == 0 || held_.size() < *size) return {};
  auto done = put_field(held_, out);
  held_.clear();
  return done;
}

Result<void> WireList::put_field(std::string_view field, std::string& out) {
  const bool metadata = static_cast<unsigned char>(field.front()) == tag_of(1);
  if (!head_.empty() && metadata) {
    // What it gains, a sealed token say, is known before the length is said.
    std::string made;
    ZOO_TRY_VOID(wire_list_field(context_, *item_, field, made));
    left_ -= field.size();
    say_length(left_ + made.size(), out);
    out += made;
  } else {
    if (!head_.empty()) say_length(left_, out);
    left_ -= field.size();
    const auto before = out.size();
    ZOO_TRY_VOID(wire_list_field(context_, *item_, field, out));
    const auto made = out.size() - before;
    if (made > field.size() + slack_ - k_filler_head)
      return fail(Code::internal, "an object of the upstream's answer got longer");
    if (made > field.size()) reserve_ = 0; // this was the one
    slack_ += field.size();
    slack_ -= made;
  }
  if (left_ == 0) {
    put_filler(out, std::exchange(slack_, 0));
  } else if (slack_ >= k_most_slack + reserve_) {
    put_filler(out, slack_ - reserve_ - k_filler_head);
    slack_ = reserve_ + k_filler_head; // for the end
  }
  return {};
}

void WireList::say_length(std::uint64_t size, std::string& out) {
  slack_ = size == 0 ? 0 : k_filler_head + reserve_;
  out += std::exchange(head_, {});
  put_varint(out, size + slack_);
}

} // namespace zoo::translate
