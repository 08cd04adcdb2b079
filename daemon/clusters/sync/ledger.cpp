// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/ledger.hpp"

namespace zoo::clusters::sync {

kube::Quantity Ledger::used(const std::string& resource) const {
  const auto found = used_.find(resource);
  return found == used_.end() ? kube::Quantity() : found->second;
}

std::optional<kube::Quantity> Ledger::left(const std::string& resource) const {
  const auto share = share_.find(resource);
  if (share == share_.end()) return std::nullopt;
  auto out = share->second;
  return out -= used(resource);
}

std::optional<Ledger::Shortage> Ledger::reserve(const Amounts& claims) {
  for (const auto& [resource, wanted] : claims)
    if (const auto rest = left(resource); rest && *rest < wanted)
      return Shortage{resource, wanted, *rest};
  note(claims);
  return std::nullopt;
}

} // namespace zoo::clusters::sync
