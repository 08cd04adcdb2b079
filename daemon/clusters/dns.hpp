// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/client.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

/// The names of a virtual cluster's Services and pods: CoreDNS, which zood has run in the cluster.
namespace zoo::clusters {

/// On each object of it that zood makes in a cluster; what has another label is somebody else's.
inline constexpr const char* k_dns_label = "virtual-cluster/dns";
/// What zood wanted when it wrote the object, as 16 hex digits: what the cluster's administrators
/// change stays until zood wants another thing.
inline constexpr const char* k_dns_wish = "virtual-cluster/wish";

struct DnsObject {
  std::string collection; ///< the path of its kind's list
  nlohmann::json object;
  std::string path() const; ///< its own
};
/// ServiceAccount, rights, Corefile, Deployment and Service `kube-system/kube-dns`, in the order in
/// which they are made. The Service asks for no address: any of the upstream's range may be taken
/// there. `id`: of the cluster. Pure.
std::vector<DnsObject> dns_objects(const std::string& id, const std::string& image);

/// Makes what is not there, and writes anew what zood wants otherwise by now; everything else stays
/// as it is. Code::conflict: something of it has a name that is somebody else's in the cluster. Any
/// thread; blocks.
Result<void> keep_dns(kube::KubeClient& api, const std::string& id, const std::string& image);
/// Takes away what keep_dns() has made. Any thread; blocks.
Result<void> remove_dns(kube::KubeClient& api);

} // namespace zoo::clusters
