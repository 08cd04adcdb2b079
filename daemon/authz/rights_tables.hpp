// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/rights.hpp"
#include "daemon/authz/shared_map.hpp"
#include "daemon/authz/subject_bindings.hpp"

#include <string_view>

namespace zoo::authz {

/// What Rights are answered from. The RightsTable writes one; each published snapshot has a copy.
struct RightsTables {
  SharedMap<const Role> roles; ///< ClusterRoles, too: they have no namespace
  SharedMap<SubjectBindings> subjects;

  /// Null: there is none.
  const Role* role(std::string_view name_space, std::string_view name) const;
  const SubjectBindings* subject(std::string_view key) const;
};

std::size_t hash_of(std::string_view name_space, std::string_view name);
std::size_t hash_of(std::string_view subject_key);

RightsPtr rights_of(RightsTables tables);

} // namespace zoo::authz
