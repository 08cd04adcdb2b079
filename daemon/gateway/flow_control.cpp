// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/flow_control.hpp"

#include <functional>

namespace zoo::gateway {

std::optional<FlowControl::Token> FlowControl::acquire(std::string_view id, std::uint32_t limit) {
  auto& shard = shard_of(id);
  std::string key(id);
  const std::scoped_lock lock(shard.mutex);
  auto& count = shard.in_flight[key];
  if (count >= limit) {
    if (count == 0) shard.in_flight.erase(key);
    return std::nullopt;
  }
  ++count;
  return Token(this, std::move(key));
}

void FlowControl::release(const std::string& id) {
  auto& shard = shard_of(id);
  const std::scoped_lock lock(shard.mutex);
  const auto found = shard.in_flight.find(id);
  if (found != shard.in_flight.end() && --found->second == 0) shard.in_flight.erase(found);
}

FlowControl::Shard& FlowControl::shard_of(std::string_view id) {
  return shards_[std::hash<std::string_view>{}(id) % shards_.size()];
}

} // namespace zoo::gateway
