// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/clusters/record.hpp"
#include "daemon/tenants/cluster_tenants.hpp"

#include <string>
#include <string_view>

namespace zoo::api {
struct Tenant;
}
namespace zoo::upstream {
class ControlApi;
}

/// Which upstream it is that a cluster was in: a store is known by the UID of its namespace
/// kube-system. What another one lacks is not gone, and what it has is not the cluster's.
namespace zoo::clusters {

/// May it be believed that the order of this record is not there any more, in the upstream of this
/// UID? Code::unavailable: no, with what to do. A record that does not say in which one its order
/// was is believed nothing, until that was seen.
Result<void> may_miss_order(const Record& record, std::string_view uid);

/// Of a VirtualCluster: the UID of the store in which what it has upstream stays when it is deleted
/// and that store is the upstream's no more.
inline constexpr const char* k_leave_annotation = "clusters.zoo.kubezoo.io/leave-upstream";

/// Is what the cluster has upstream in the store of this UID? Pure.
tenants::RoomPlace place_of_room(const Record& record, const std::string& uid);
/// The same of the upstream as it is now, of a Tenant that is to go. Blocking; any thread.
Result<tenants::RoomPlace> place_of_room(store::Store& store, upstream::ControlApi& api,
                                         const api::Tenant& tenant);

} // namespace zoo::clusters
