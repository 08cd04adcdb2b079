// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/openapi_cache.hpp"

namespace zoo::upstream {

template <typename Value>
Value OpenApiCache::Kept<Value>::find(const std::string& key) {
  const auto found = index.find(key);
  if (found == index.end()) return nullptr;
  order.splice(order.begin(), order, found->second);
  return found->second->value;
}

template <typename Value>
void OpenApiCache::Kept<Value>::put(const std::string& key, Value value, std::size_t weight) {
  if (index.contains(key)) return;
  order.push_front({key, std::move(value), weight});
  index.emplace(key, order.begin());
  weighs += weight;
  while (weighs > most) {
    weighs -= order.back().weight;
    index.erase(order.back().key);
    order.pop_back();
  }
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
  parts_.put(key, std::move(part), bytes);
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
  own_.put(key, std::move(own), bytes);
}

OpenApiCache::CommonPtr OpenApiCache::find_common(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  return common_.find(key);
}

void OpenApiCache::put_common(const std::string& key, CommonPtr common) {
  const std::scoped_lock lock(mutex_);
  common_.put(key, std::move(common), 1);
}

} // namespace zoo::upstream
