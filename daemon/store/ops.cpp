// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/ops.hpp"

#include "common/base/json_text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace zoo::store {
namespace {

constexpr std::size_t k_longest_kind = 64;
constexpr std::size_t k_longest_key = 512;

Result<void> check_name(std::string_view what, std::string_view text, std::size_t longest) {
  const bool clean = is_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
                       return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
                     });
  if (text.empty() || text.size() > longest || !clean) {
    return fail(Code::invalid, "a record's {} is 1 to {} bytes of UTF-8 without control characters",
                what, longest);
  }
  return {};
}

} // namespace

Result<void> check_record_name(std::string_view kind, std::string_view key) {
  ZOO_TRY_VOID(check_name("kind", kind, k_longest_kind));
  return check_name("key", key, k_longest_key);
}

Result<void> check_ops(std::span<const Op> ops, const Limits& limits) {
  if (ops.empty() || ops.size() > limits.ops)
    return fail(Code::invalid, "one write is of 1 to {} records, not of {}", limits.ops,
                ops.size());
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& op : ops) {
    if (!op.removal) ZOO_TRY_VOID(check_record_name(op.kind, op.key));
    if (!op.removal && op.value.size() > limits.value) {
      return fail(Code::too_large, "{} '{}' has {} bytes; the store takes at most {}", op.kind,
                  op.key, op.value.size(), limits.value);
    }
    if (!seen.emplace(op.kind, op.key).second)
      return fail(Code::invalid, "{} '{}' is there twice in one write", op.kind, op.key);
  }
  return {};
}

tl::unexpected<Error> no_such_record(std::string_view kind, std::string_view key) {
  return fail(Code::not_found, "{} '{}' does not exist", kind, key);
}

Result<void> check_expected(const Op& op, std::optional<std::int64_t> found) {
  const auto wanted = op.expected.value_or(0);
  if (!found && (op.removal || wanted != 0)) return no_such_record(op.kind, op.key);
  if (!found || !op.expected || wanted == *found) return {};
  if (wanted == 0 && !op.removal)
    return fail(Code::already_exists, "{} '{}' already exists", op.kind, op.key);
  return fail(Code::conflict, "{} '{}' has changed meanwhile (revision {}, not {}): read it again",
              op.kind, op.key, *found, wanted);
}

Result<void> check_guard(const Guard& guard, std::optional<std::int64_t> found) {
  if (found.value_or(0) == guard.revision) return {};
  return fail(Code::conflict,
              "{} '{}' has changed meanwhile (revision {}, not {}): nothing was written",
              guard.kind, guard.key, found.value_or(0), guard.revision);
}

} // namespace zoo::store
