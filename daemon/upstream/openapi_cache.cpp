// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/openapi_cache.hpp"

namespace zoo::upstream {

template <typename Value>
Value OpenApiCache::Kept<Value>::find(const std::string& key) {
  const auto found = index.find(key);
  if (found == index.end()) return nullptr;
  order.splice(order.begin(), order, found->second);
  return found->second->second;
}

template <typename Value>
bool OpenApiCache::Kept<Value>::put(const std::string& key, Value value) {
  if (index.contains(key)) return false;
  order.emplace_front(key, std::move(value));
  index.emplace(key, order.begin());
  return true;
}

template <typename Value>
Value OpenApiCache::Kept<Value>::pop_oldest() {
  auto value = std::move(order.back().second);
  index.erase(order.back().first);
  order.pop_back();
  return value;
}

std::optional<OpenApiCache::Turn> OpenApiCache::turn(const std::string& whose) {
  const std::scoped_lock lock(mutex_);
  if (!turns_.insert(whose).second) return std::nullopt;
  return Turn(*this, whose);
}

OpenApiCache::Turn::~Turn() {
  if (cache_ == nullptr) return;
  const std::scoped_lock lock(cache_->mutex_);
  cache_->turns_.erase(whose_);
}

OpenApiCache::PartPtr OpenApiCache::find(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  return parts_.find(key);
}

void OpenApiCache::put(const std::string& key, PartPtr part) {
  const std::scoped_lock lock(mutex_);
  const auto bytes = part->bytes();
  if (!parts_.put(key, std::move(part))) return;
  bytes_ += bytes;
  while (bytes_ > k_max_bytes)
    bytes_ -= parts_.pop_oldest()->bytes();
}

std::size_t OwnOpenApi::bytes() const {
  std::size_t out = sizeof(*this);
  for (const auto* each : {&text.paths, &text.definitions, &text.parameters, &proto, &paths.bytes,
                           &definitions.bytes, &parameters.bytes, &proto_piece.bytes})
    out += each->size();
  return out;
}

OpenApiCache::OwnPtr OpenApiCache::find_own(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  return own_.find(key);
}

void OpenApiCache::put_own(const std::string& key, OwnPtr own) {
  const std::scoped_lock lock(mutex_);
  const auto bytes = own->bytes();
  if (!own_.put(key, std::move(own))) return;
  own_bytes_ += bytes;
  while (own_bytes_ > k_max_own_bytes)
    own_bytes_ -= own_.pop_oldest()->bytes();
}

OpenApiCache::CommonPtr OpenApiCache::find_common(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  return common_.find(key);
}

void OpenApiCache::put_common(const std::string& key, CommonPtr common) {
  const std::scoped_lock lock(mutex_);
  if (!common_.put(key, std::move(common))) return;
  if (common_.order.size() > k_max_common) common_.pop_oldest();
}

} // namespace zoo::upstream
