// SPDX-License-Identifier: Apache-2.0
#include "daemon/upstream/page_spaces.hpp"

#include <algorithm>

namespace zoo::upstream {

PageSpaces::Spaces PageSpaces::find(const std::string& list) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(lists_.begin(), lists_.end(),
                                  [&](const auto& each) { return each.first == list; });
  return found == lists_.end() ? nullptr : found->second;
}

void PageSpaces::keep(const std::string& list, Spaces spaces) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(lists_, [&](const auto& each) { return each.first == list; });
  if (lists_.size() >= k_lists) lists_.pop_front();
  lists_.emplace_back(list, std::move(spaces));
}

} // namespace zoo::upstream
