// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/amounts.hpp"

#include <map>
#include <optional>
#include <string>

namespace zoo::clusters::sync {

/// What the pods of a cluster take of its share: an exact sum over all its namespaces. A pod is
/// counted before it is made upstream, until it is gone there or has ended. A value; whoever owns
/// it guards it.
class Ledger {
public:
  using Sums = std::map<std::string, kube::Quantity>;

  /// What cannot be had more of. What is taken stays taken, be it more than that.
  void set_share(Sums share) { share_ = std::move(share); }

  struct Shortage {
    std::string resource;
    kube::Quantity wanted, left; ///< `left` may be below zero
  };
  /// Nothing: it is counted. Else the first resource that is short of it, and nothing is counted.
  std::optional<Shortage> reserve(const Amounts& claims);
  /// Counts it whether there is room or not: it is upstream already.
  void note(const Amounts& claims) { add(used_, claims); }
  void release(const Amounts& claims) { take(used_, claims); }

  kube::Quantity used(const std::string& resource) const;
  /// What is left of it; nothing if it is not limited.
  std::optional<kube::Quantity> left(const std::string& resource) const;

private:
  Sums share_, used_;
};

} // namespace zoo::clusters::sync
