// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/authorizer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace zoo::gateway {

AdministratorOnly::AdministratorOnly(std::string administrator_group)
    : administrator_group_(std::move(administrator_group)) {}

void AdministratorOnly::authorize(const Identity& subject, const Attributes&,
                                  std::function<void(Decision)> done) const {
  const bool administrator = std::find(subject.groups.begin(), subject.groups.end(),
                                       administrator_group_) != subject.groups.end();
  if (administrator) {
    done({true, fmt::format("member of group \"{}\"", administrator_group_)});
  } else {
    done({false, "only the tenant's administrator is served: RBAC is stored, not evaluated yet"});
  }
}

} // namespace zoo::gateway
