// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/front_proxy.hpp"
#include "daemon/authz/rights.hpp"
#include "daemon/resources/door.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/resources/watch.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::accounts {

/// What the aggregated door stands on. All functions may be called from any thread, and do not
/// block.
struct AggregatedDoorParts {
  std::vector<resources::KindPtr> kinds; ///< of tenancy.kiosk.sh
  std::function<FrontProxyTermsPtr()> terms;
  /// Upstream's RBAC as it is now; Code::unavailable while it is not known.
  std::function<Result<authz::RightsPtr>()> rights;
  /// Is this namespace of the upstream a tenant's? Its ServiceAccounts are nobody here.
  std::function<bool(std::string_view name_space)> of_tenant;
  /// What is missing before the kinds can be answered; "": nothing.
  std::function<std::string()> not_ready;
  /// Hears of each request that is over; null: nobody does.
  std::function<void(const resources::Finished& finished)> over = nullptr;
  resources::Later later;                      ///< puts an ended watch's subscription away
  std::function<std::int64_t()> now = nullptr; ///< Unix seconds; null: the system's clock
};

/// The aggregated door: tenancy.kiosk.sh for the upstream's kube-apiserver, which asks for its own
/// clients and names them in headers (front_proxy.hpp). Served are discovery, OpenAPI and the kinds
/// alone, and /healthz, /livez and /readyz for whoever connects.
///
/// Discovery and OpenAPI are answered whatever is missing for the kinds: a group that cannot be
/// discovered holds up the deletion of every namespace of the upstream.
///
/// The right to a verb is asked for here once more, though kube-apiserver has asked for it already:
/// whoever holds a front proxy's key need not have.
std::shared_ptr<resources::Door> make_aggregated_door(AggregatedDoorParts parts);

/// What a request wants, as k8s.io/apiserver pkg/endpoints/request has it: of a list or a watch of
/// one name that name, too.
authz::Attributes attributes_of(const resources::Request& request);

} // namespace zoo::accounts
