// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/stored.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zoo::clusters::sync {

bool StoredBytes::swap(std::size_t before, std::size_t now) {
  const std::scoped_lock lock(mutex_);
  if (now > before && sum_ + (now - before) > k_most) return false;
  sum_ = sum_ - before + now;
  return true;
}

void StoredBytes::set(std::size_t before, std::size_t now) {
  const std::scoped_lock lock(mutex_);
  sum_ = sum_ - before + now;
}

bool StoredBytes::fits(std::size_t more) const {
  const std::scoped_lock lock(mutex_);
  return sum_ + more <= k_most;
}

std::size_t StoredBytes::sum() const {
  const std::scoped_lock lock(mutex_);
  return sum_;
}

std::string no_room_for(std::size_t bytes) {
  return fmt::format("it has {} bytes, for which there is no room among the {} that the virtual "
                     "cluster may have upstream, pods and what they need together: delete "
                     "something that is large",
                     bytes, StoredBytes::k_most);
}

void WritePace::refill(Clock::time_point now) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::floor<milliseconds>(now - filled_).count();
  if (since <= 0) return;
  // Beyond this it is full whatever was owed.
  constexpr std::int64_t k_long = 24LL * 3'600 * 1'000;
  left_ = since >= k_long ? k_at_once : std::min(left_ + since * k_a_second / 1'000, k_at_once);
  filled_ += milliseconds(since);
}

std::chrono::milliseconds WritePace::wait(Clock::time_point now) {
  using std::chrono::milliseconds;
  const std::scoped_lock lock(mutex_);
  refill(now);
  if (left_ > 0) return milliseconds(0);
  const auto due = now + milliseconds(-left_ * 1'000 / k_a_second + 1);
  slot_ = std::max(slot_, due) + milliseconds(k_least * 1'000 / k_a_second);
  return std::chrono::ceil<milliseconds>(slot_ - now);
}

void WritePace::spend(std::size_t bytes, Clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  refill(now);
  left_ -= std::max(static_cast<std::int64_t>(bytes), k_least);
}

} // namespace zoo::clusters::sync
