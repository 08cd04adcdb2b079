// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/local_api.hpp"

#include <memory>
#include <string>

namespace zoo::test {

/// Of john, who may read pods in team-a, team-a-x and team-b.
struct RightsOfJohn {
  std::string more;        ///< another namespace in which he may the same; "": none
  std::string less;        ///< one of these in which he may not; "": none
  bool everywhere = false; ///< he may also read all namespaces themselves
};

/// What stands behind the account door of a GatewayWorld: some users' rights upstream, and an API
/// of zood's own with spaces and namespaces. Thread-safe.
class AccountWorld {
public:
  AccountWorld();
  ~AccountWorld();
  std::shared_ptr<const access::UpstreamRights> rights() const;
  std::shared_ptr<const access::LocalApi> api() const;
  void change_rights(const RightsOfJohn& rights);
  void stop(); ///< its threads

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::test
