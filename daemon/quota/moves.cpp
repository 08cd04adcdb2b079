// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/moves.hpp"

#include <algorithm>

namespace zoo::quota {

using kube::Quantity;

std::vector<Move> lowered(const ResourceList& limit, const Slices& slices, const Targets& targets) {
  std::vector<Move> out;
  for (const auto& [space, slice] : slices) {
    const auto target = targets.find(space);
    if (target == targets.end()) continue;
    Move move{space, of_names(slice.hard, limit)};
    const auto spec = of_names(slice.spec, limit);
    bool changes = false;
    for (auto& [name, amount] : move.hard) {
      const auto goal = target->second.at(name);
      changes = changes || goal < std::max(amount, spec.at(name));
      amount = std::min(amount, goal);
    }
    if (changes) out.push_back(std::move(move));
  }
  return out;
}

std::vector<Move> raised(const ResourceList& limit, const Slices& slices, const Targets& targets) {
  std::vector<Move> out;
  auto free = beyond(limit, of_names(taken(slices), limit));
  for (const auto& [space, slice] : slices) {
    const auto target = targets.find(space);
    if (target == targets.end() || !counted(slice, limit)) continue;
    Move move{space, of_names(slice.hard, limit)};
    bool changes = false;
    for (auto& [name, amount] : move.hard) {
      auto& left = free[name];
      // What `spec` or `used` has above `hard` is taken already.
      const auto has = std::max(
          {amount, of_names(slice.spec, limit).at(name), of_names(slice.used, limit).at(name)});
      const auto goal = target->second.at(name);
      if (goal <= amount) continue;
      const auto most = std::max(amount, std::min(goal, has + left));
      if (most <= amount) continue;
      if (most > has) left -= most - has;
      amount = most;
      changes = true;
    }
    if (changes) out.push_back(std::move(move));
  }
  return out;
}

bool counted(const Slice& slice, const ResourceList& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const auto& entry) { return slice.used.contains(entry.first); });
}

ResourceList of_names(const ResourceList& list, const ResourceList& names) {
  ResourceList out;
  for (const auto& [name, amount] : names) {
    const auto found = list.find(name);
    out.insert_or_assign(name, found == list.end() ? Quantity{} : found->second);
  }
  return out;
}

} // namespace zoo::quota
