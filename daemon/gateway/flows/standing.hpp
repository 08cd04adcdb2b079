// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/gateway/flows/flows.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

/// kube-public and kube-node-lease: every cluster has them, hardly a tenant uses them. They appear
/// to exist from the tenant's first moment and are made upstream at the first write into or of them
/// (DESIGN 9, docs/decisions/022). Loop thread, one exchange.
namespace zoo::gateway {

/// Is this one of them? In the tenant's name, as cut from a path or an object.
bool is_standing(std::string_view name);

/// The same of an upstream name.
bool is_standing_upstream(const Exchange& exchange, std::string_view upstream_name);

/// Begins to read a range of Namespaces in which those that do not exist upstream appear in their
/// place, as upstream would write them, where the selectors of `request` let them.
std::unique_ptr<upstream::List> read_with_standing(const Exchange& exchange,
                                                   upstream::ListRequest request, std::string hint,
                                                   upstream::ListHandler& handler);

/// GET of one: upstream's, or what appears where upstream has none.
std::unique_ptr<Flow> get_standing(Exchange& exchange, Outgoing request, Rendering rendering);

/// Makes one upstream, with its fence, if it is not there (namespaces.cpp); then runs what `then`
/// gives. `upstream_name` was proven to be the tenant's.
std::unique_ptr<Flow> make_standing(Exchange& exchange, std::string upstream_name,
                                    std::function<Result<std::unique_ptr<Flow>>()> then);

} // namespace zoo::gateway
