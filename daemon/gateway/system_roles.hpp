// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/gateway/render.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// ClusterRoles and ClusterRoleBindings that every tenant has and that lie nowhere upstream
/// (authz/system_roles.hpp), as clients of an exchange see them, and the rules of aggregated
/// ClusterRoles, which Kubernetes' controller would have written. Loop thread; everything here
/// lives no longer than its exchange.
namespace zoo::gateway {

class Exchange;

/// An object that is made here, in the tenant's names.
struct OwnObject {
  std::string name;
  std::string json; ///< whole, with uid, resourceVersion and creationTimestamp
};

/// Those of the exchange's kind that its selectors choose, by name; none for other kinds.
/// Code::bad_request for selectors that cannot be read.
Result<std::vector<OwnObject>> own_objects(const Exchange& exchange);

/// Is the exchange's target one of them, by name?
bool targets_own_object(const Exchange& exchange);

/// The resourceVersion that they carry: they never change but with zood.
inline constexpr std::string_view k_own_version = "1";

/// An own object as an item of a list in this representation: itself, its metadata, or a row.
std::string own_item(const Rendering& rendering, const OwnObject& object);
/// `{"kind":"Table",...,"columnDefinitions":[...],"rows":[` for tables of own objects alone.
std::string own_table_head(const Exchange& exchange);

/// A ClusterRole outward, with the rules that its aggregationRule gathers; as it is without one.
/// Null for kinds that need nothing.
using Completion = std::function<void(std::string& object)>;
Completion completion_of(const Exchange& exchange);

} // namespace zoo::gateway
