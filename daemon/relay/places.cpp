// SPDX-License-Identifier: Apache-2.0
#include "daemon/relay/places.hpp"

namespace zoo::relay {

Result<std::unique_ptr<Places::Place>> Places::take(const std::string& id) {
  const auto his = of_.find(id);
  if (his != of_.end() && his->second.calls >= limits_.calls_of_one)
    return fail(Code::too_many_requests,
                "{} calls of this tenant's webhooks are in progress, as many as are allowed: do "
                "they answer?",
                limits_.calls_of_one);
  if (all_.calls >= limits_.calls)
    return fail(Code::unavailable,
                "{} calls of tenants' webhooks are in progress, as many as are allowed: try again",
                limits_.calls);
  ++of_[id].calls;
  ++all_.calls;
  return std::make_unique<Place>(*this, id);
}

Result<void> Places::Place::hold(std::size_t bytes) {
  auto& his = from_.of_[id_];
  if (his.bytes + bytes > from_.limits_.held_of_one)
    return fail(Code::too_many_requests,
                "reviews of this tenant's objects that are in progress hold {} bytes, as many as "
                "are allowed: do its webhooks answer?",
                his.bytes);
  if (from_.all_.bytes + bytes > from_.limits_.held)
    return fail(Code::unavailable,
                "reviews that are in progress hold {} bytes, as many as are allowed: try again",
                from_.all_.bytes);
  his.bytes += bytes;
  from_.all_.bytes += bytes;
  bytes_ += bytes;
  return {};
}

void Places::give_back(const std::string& id, std::size_t bytes) {
  --all_.calls;
  all_.bytes -= bytes;
  const auto his = of_.find(id);
  if (his == of_.end()) return;
  his->second.bytes -= bytes;
  if (--his->second.calls == 0) of_.erase(his);
}

} // namespace zoo::relay
