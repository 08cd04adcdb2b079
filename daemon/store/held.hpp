// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"

#include <memory>
#include <shared_mutex>
#include <string>

namespace zoo::store {

/// A store whose writes can be held: for the time in which its records are copied elsewhere. Reads
/// and watches go on.
class HeldStore final : public Store {
public:
  explicit HeldStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}

  /// From when this returns until release() every write fails with Code::unavailable and `why`, and
  /// none is in progress.
  void hold(std::string why);
  void release();
  Store& inner() { return *inner_; } ///< whose writes are not held

  Result<Record> get(std::string_view kind, std::string_view key) override;
  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected) override;
  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected) override;
  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards,
                             const std::optional<Fence>& fence) override;
  Limits limits() const override { return inner_->limits(); }
  Result<Page> list(std::string_view kind, std::string_view prefix, std::string_view after_key,
                    std::size_t limit) override;
  Result<std::int64_t> revision() override;
  Result<Snapshot> snapshot() override;
  Result<void> load(const Snapshot& from) override;
  Result<Subscription> watch(std::string_view kind, std::int64_t from,
                             std::function<void(const Change&)> on_change) override;
  Result<std::unique_ptr<Session>> join(Replica self) override;
  std::chrono::milliseconds stale() const override { return inner_->stale(); }

private:
  template <class Write>
  auto unless_held(const Write& write) -> decltype(write()) {
    const std::shared_lock lock(mutex_);
    if (!why_.empty()) return fail(Code::unavailable, "nothing is written for now: {}", why_);
    return write();
  }

  const std::unique_ptr<Store> inner_;
  std::shared_mutex mutex_;
  std::string why_;
};

} // namespace zoo::store
