// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/around.hpp"

#include <memory>
#include <shared_mutex>
#include <string>

namespace zoo::store {

/// A store whose writes can be held: for the time in which its records are copied elsewhere. Reads
/// and watches go on.
class HeldStore final : public StoreAround {
public:
  explicit HeldStore(std::unique_ptr<Store> inner) : StoreAround(*inner), own_(std::move(inner)) {}

  /// When this returns no write is in progress. Until release() every write fails with
  /// Code::unavailable and `why`.
  void hold(std::string why);
  void release();
  Store& inner() { return inner_; } ///< whose writes are not held

  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected) override;
  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected) override;
  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards,
                             const std::optional<Fence>& fence) override;

private:
  template <class Write>
  auto unless_held(const Write& write) -> decltype(write()) {
    const std::shared_lock lock(mutex_);
    if (!why_.empty()) return fail(Code::unavailable, "nothing is written for now: {}", why_);
    return write();
  }

  const std::unique_ptr<Store> own_;
  std::shared_mutex mutex_;
  std::string why_;
};

} // namespace zoo::store
