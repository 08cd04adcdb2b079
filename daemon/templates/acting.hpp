// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/connections.hpp"

#include <string>
#include <utility>

namespace zoo::templates {

/// The user that objects of templates are made as. What he may do in a namespace is given to the
/// group of one instance, by a RoleBinding there.
inline constexpr const char* k_user = "zoo:templates";

/// Connections to the upstream as k_user, each told for which instance it asks before it is lent.
/// Any thread.
class Acting {
public:
  using Connect = upstream::ActingConnections::Connect;
  explicit Acting(Connect connect) : connections_(std::move(connect)) {}

  /// A connection as a member of one group, for as long as the lease lives. `tenant`: not empty: as
  /// the user of that tenant, and a member of the tenants' group, too.
  upstream::ActingConnections::Lease take(const std::string& group, const std::string& tenant = {});

private:
  upstream::ActingConnections connections_;
};

} // namespace zoo::templates
