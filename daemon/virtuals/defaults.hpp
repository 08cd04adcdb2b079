// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/virtuals/board.hpp"
#include "daemon/virtuals/object.hpp"

#include <string>
#include <utility>
#include <vector>

/// What a cluster has without anybody having made it, computed for each tenant and read-only: the
/// mandatory and suggested FlowSchemas and PriorityLevelConfigurations
/// (k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap), an APIService for each group and version that
/// the tenant is served (kube-aggregator's autoregistration), the ComponentStatuses. Pure.
namespace zoo::virtuals {

/// Group and version, in the tenant's names; the core group is "".
using ServedGroups = std::vector<std::pair<std::string, std::string>>;

/// `created`: of the tenant, RFC 3339. Sorted by name.
std::vector<ObjectPtr> provided(const Kind& kind, const Owner& owner, const std::string& created,
                                const ServedGroups& served);

/// Is there such a PriorityLevelConfiguration in every tenant?
bool provides_level(std::string_view name);

} // namespace zoo::virtuals
