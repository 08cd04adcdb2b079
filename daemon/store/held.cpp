// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/held.hpp"

#include "daemon/store/session.hpp"

#include <mutex>
#include <utility>

namespace zoo::store {

void HeldStore::hold(std::string why) {
  const std::unique_lock lock(mutex_);
  why_ = std::move(why);
}

void HeldStore::release() { hold({}); }

Result<Record> HeldStore::get(std::string_view kind, std::string_view key) {
  return inner_->get(kind, key);
}

Result<Record> HeldStore::put(std::string_view kind, std::string_view key, std::string_view value,
                              std::optional<std::int64_t> expected) {
  return unless_held([&] { return inner_->put(kind, key, value, expected); });
}

Result<std::int64_t> HeldStore::remove(std::string_view kind, std::string_view key,
                                       std::optional<std::int64_t> expected) {
  return unless_held([&] { return inner_->remove(kind, key, expected); });
}

Result<std::int64_t> HeldStore::write(std::span<const Op> ops, std::span<const Guard> guards,
                                      const std::optional<Fence>& fence) {
  return unless_held([&] { return inner_->write(ops, guards, fence); });
}

Result<Page> HeldStore::list(std::string_view kind, std::string_view prefix,
                             std::string_view after_key, std::size_t limit) {
  return inner_->list(kind, prefix, after_key, limit);
}

Result<std::int64_t> HeldStore::revision() { return inner_->revision(); }

Result<Snapshot> HeldStore::snapshot() { return inner_->snapshot(); }

Result<void> HeldStore::load(const Snapshot& from) { return inner_->load(from); }

Result<std::unique_ptr<Session>> HeldStore::join(Replica self) {
  return inner_->join(std::move(self));
}

Result<Subscription> HeldStore::watch(std::string_view kind, std::int64_t from,
                                      std::function<void(const Change&)> on_change) {
  return inner_->watch(kind, from, std::move(on_change));
}

} // namespace zoo::store
