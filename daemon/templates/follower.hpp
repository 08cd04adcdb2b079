// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/templates/drift.hpp"
#include "daemon/templates/keeper.hpp"

#include <memory>
#include <set>
#include <string>

namespace zoo::templates {

/// What a Keeper goes by: follows Templates, TemplateInstances and the objects that were made. On
/// one loop; destroyed when that has stopped.
class Follower {
public:
  Follower(upstream::Upstream& upstream, net::Loop& loop, Keeper& keeper);
  ~Follower();
  void start(); ///< any thread
  const Drift& drift() const { return drift_; }

private:
  net::Loop& loop_;
  Keeper& keeper_;
  Drift drift_;
  std::set<std::string, std::less<>> templates_found_, instances_found_; ///< while they are read
  std::unique_ptr<upstream::ChangeFollower> templates_, instances_;
};

} // namespace zoo::templates
