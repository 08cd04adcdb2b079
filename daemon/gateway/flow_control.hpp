// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace zoo::gateway {

/// Requests in flight, per tenant (DESIGN 4 `room`). Thread-safe; sharded, so that tenants rarely
/// meet on a lock. A tenant without requests costs nothing.
class FlowControl {
public:
  /// A place among a tenant's requests; given back on destruction.
  class Token {
  public:
    Token(Token&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), id_(std::move(other.id_)) {}
    Token& operator=(Token&&) = delete;
    ~Token() {
      if (owner_ != nullptr) owner_->release(id_);
    }

  private:
    friend class FlowControl;
    Token(FlowControl* owner, std::string id) : owner_(owner), id_(std::move(id)) {}
    FlowControl* owner_;
    std::string id_;
  };

  /// nullopt: the tenant has `limit` requests in flight already; the answer is 429.
  std::optional<Token> acquire(std::string_view id, std::uint32_t limit);

private:
  void release(const std::string& id);
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, std::uint32_t> in_flight;
  };
  Shard& shard_of(std::string_view id);
  std::array<Shard, 64> shards_;
};

} // namespace zoo::gateway
