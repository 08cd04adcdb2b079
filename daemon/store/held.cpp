// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/held.hpp"

#include <mutex>
#include <utility>

namespace zoo::store {

void HeldStore::hold(std::string why) {
  const std::unique_lock lock(mutex_);
  why_ = std::move(why);
}

void HeldStore::release() { hold({}); }

Result<Record> HeldStore::put(std::string_view kind, std::string_view key, std::string_view value,
                              std::optional<std::int64_t> expected) {
  return unless_held([&] { return inner_.put(kind, key, value, expected); });
}

Result<std::int64_t> HeldStore::remove(std::string_view kind, std::string_view key,
                                       std::optional<std::int64_t> expected) {
  return unless_held([&] { return inner_.remove(kind, key, expected); });
}

Result<std::int64_t> HeldStore::write(std::span<const Op> ops, std::span<const Guard> guards,
                                      const std::optional<Fence>& fence) {
  return unless_held([&] { return inner_.write(ops, guards, fence); });
}

} // namespace zoo::store
