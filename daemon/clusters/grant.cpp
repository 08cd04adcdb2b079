// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/grant.hpp"

#include <algorithm>

namespace zoo::clusters {
namespace {

bool has(const Place& place, const std::string& node) {
  return std::find(place.nodes.begin(), place.nodes.end(), node) != place.nodes.end();
}

} // namespace

Grant grant_nodes(const Record& record, const std::vector<std::string>& wanted, bool exclusive,
                  const std::vector<Record>& all) {
  Grant out;
  out.exclusive = exclusive;
  for (const auto& node : wanted) {
    const auto holder = std::find_if(all.begin(), all.end(), [&](const Record& each) {
      return each.uid() != record.uid() && has(each.place, node) &&
             (exclusive || each.place.exclusive);
    });
    if (holder == all.end()) {
      out.nodes.push_back(node);
      continue;
    }
    if (!out.contest) out.contest = Grant::Contest{node, holder->key(), holder->place.exclusive};
    if (!has(record.place, node)) continue;
    out.nodes.push_back(node); // as it had it: with others
    out.exclusive = false;
  }
  return out;
}

} // namespace zoo::clusters
