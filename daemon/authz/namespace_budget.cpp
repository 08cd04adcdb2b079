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
  if (use.left_out++ == 0) ++crowded_;
  return false;
}

void NamespaceBudget::give_back(const std::string& name_space, std::size_t bytes, bool kept) {
  const auto found = uses_.find(name_space);
  if (found == uses_.end()) return;
  auto& use = found->second;
  if (kept) {
    use.bytes -= std::min(bytes, use.bytes);
  } else if (use.left_out != 0 && --use.left_out == 0) {
    --crowded_;
  }
  if (use.bytes == 0 && use.left_out == 0) uses_.erase(found);
}

NamespaceBudget::Crowded NamespaceBudget::crowded() const {
  constexpr std::size_t k_some = 10;
  Crowded out;
  out.count = crowded_;
  if (crowded_ == 0) return out;
  for (const auto& [name, use] : uses_) {
    if (use.left_out != 0) out.some.push_back(name);
  }
  std::sort(out.some.begin(), out.some.end());
  if (out.some.size() > k_some) out.some.resize(k_some);
  return out;
}

bool NamespaceBudget::may_have_room() const {
  if (crowded_ == 0) return false;
  return std::any_of(uses_.begin(), uses_.end(), [&](const auto& each) {
    return each.second.left_out != 0 && each.second.bytes <= most_ - most_ / 4;
  });
}

} // namespace zoo::authz
