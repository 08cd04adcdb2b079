// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/led.hpp"

namespace zoo::store {

tl::unexpected<Error> not_leading() {
  return fail(Code::unavailable, "this zood does not lead: another one does this");
}

Result<Record> LedStore::put(std::string_view kind, std::string_view key, std::string_view value,
                             std::optional<std::int64_t> expected) {
  if (session_ == nullptr || (session_->leads() && !session_->fence()))
    return inner_.put(kind, key, value, expected);
  const Op op{kind, key, value, expected, false};
  ZOO_TRY(const auto revision, write({&op, 1}));
  Record out{std::string(kind), std::string(key), std::string(value), revision, revision};
  if (expected == 0) return out;
  if (const auto now = inner_.get(kind, key)) out.created_revision = now->created_revision;
  return out;
}

Result<std::int64_t> LedStore::remove(std::string_view kind, std::string_view key,
                                      std::optional<std::int64_t> expected) {
  const Op op{kind, key, {}, expected, true};
  return write({&op, 1});
}

Result<std::int64_t> LedStore::write(std::span<const Op> ops, std::span<const Guard> guards,
                                     const std::optional<Fence>& fence) {
  if (session_ == nullptr) return inner_.write(ops, guards, fence);
  auto own = session_->fence();
  if (!session_->leads()) return not_leading();
  return inner_.write(ops, guards, own);
}

} // namespace zoo::store
