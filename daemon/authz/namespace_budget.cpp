// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/namespace_budget.hpp"

#include <algorithm>

namespace zoo::authz {

bool NamespaceBudget::take(const std::string& name_space, std::size_t bytes) {
  if (name_space.empty()) return true;
  auto& use = uses_[name_space];
  if (use.bytes + bytes <= most_) {
    use.bytes += bytes;
    return true;
  }
  if (use.left_out++ == 0) crowded_.insert(name_space);
  return false;
}

void NamespaceBudget::give_back(const std::string& name_space, std::size_t bytes, bool kept) {
  const auto found = uses_.find(name_space);
  if (found == uses_.end()) return;
  auto& use = found->second;
  if (kept) {
    use.bytes -= std::min(bytes, use.bytes);
    use.freed = true;
  } else if (use.left_out != 0 && --use.left_out == 0) {
    crowded_.erase(name_space);
  }
  if (use.bytes == 0 && use.left_out == 0) uses_.erase(found);
}

NamespaceBudget::Crowded NamespaceBudget::crowded() const {
  constexpr std::size_t k_some = 10;
  Crowded out;
  out.count = crowded_.size();
  for (const auto& name : crowded_) {
    if (out.some.size() == k_some) break;
    out.some.push_back(name);
  }
  return out;
}

bool NamespaceBudget::may_have_room() const {
  return std::any_of(crowded_.begin(), crowded_.end(), [&](const std::string& name) {
    const auto& use = uses_.at(name);
    return use.freed && use.bytes <= most_ - most_ / 4;
  });
}

void NamespaceBudget::looks_again() {
  for (const auto& name : crowded_)
    uses_.at(name).freed = false;
}

} // namespace zoo::authz
