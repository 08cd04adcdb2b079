// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/histogram.hpp"
#include "daemon/store/around.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace zoo::store {

/// A store that counts for /metrics how long its calls take, how they fail, and how far it is.
class TimedStore final : public StoreAround {
public:
  explicit TimedStore(std::unique_ptr<Store> inner) : StoreAround(*inner), own_(std::move(inner)) {}

  Result<Record> get(std::string_view kind, std::string_view key) override;
  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected) override;
  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected) override;
  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards,
                             const std::optional<Fence>& fence) override;
  Result<Page> list(std::string_view kind, std::string_view prefix, std::string_view after_key,
                    std::size_t limit) override;

  void measure(MetricText& out) const;

private:
  enum class Call : std::uint8_t { get, put, remove, write, list };
  template <class Ask>
  auto timed(Call call, const Ask& ask) -> decltype(ask());
  void seen(std::int64_t revision);

  const std::unique_ptr<Store> own_;
  std::array<Histogram, 5> took_; ///< by Call
  mutable std::mutex mutex_;
  std::map<Code, std::uint64_t> errors_; ///< what is not there, or was another, is none
  std::atomic<std::int64_t> revision_{0};
};

} // namespace zoo::store
