// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/session.hpp"
#include "daemon/store/store.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace zoo::store {

/// A store that is another one but for what a derived class overrides. The other one outlives it.
class StoreAround : public Store {
public:
  explicit StoreAround(Store& inner) : inner_(inner) {}

  Result<Record> get(std::string_view kind, std::string_view key) override {
    return inner_.get(kind, key);
  }
  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected = {}) override {
    return inner_.put(kind, key, value, expected);
  }
  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected = {}) override {
    return inner_.remove(kind, key, expected);
  }
  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards = {},
                             const std::optional<Fence>& fence = {}) override {
    return inner_.write(ops, guards, fence);
  }
  Limits limits() const override { return inner_.limits(); }
  Result<Page> list(std::string_view kind, std::string_view prefix = {},
                    std::string_view after_key = {}, std::size_t limit = 0) override {
    return inner_.list(kind, prefix, after_key, limit);
  }
  Result<std::int64_t> revision() override { return inner_.revision(); }
  Result<Snapshot> snapshot() override { return inner_.snapshot(); }
  Result<void> load(const Snapshot& from) override { return inner_.load(from); }
  Result<Subscription> watch(std::string_view kind, std::int64_t from,
                             std::function<void(const Change&)> on_change) override {
    return inner_.watch(kind, from, std::move(on_change));
  }
  Result<std::unique_ptr<Session>> join(Replica self) override {
    return inner_.join(std::move(self));
  }
  std::chrono::milliseconds stale() const override { return inner_.stale(); }
  std::vector<Member> members() override { return inner_.members(); }

protected:
  Store& inner_;
};

} // namespace zoo::store
