// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/query.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// What kube-apiserver asks of a kubelet, and the question to the upstream's API server that it
/// comes to. Pure.
namespace zoo::clusters {

/// One request to a kubelet. A value.
struct KubeletRequest {
  enum class What : std::uint8_t {
    logs,         ///< /containerLogs/NAMESPACE/POD/CONTAINER
    exec,         ///< /exec/NAMESPACE/POD[/UID]/CONTAINER
    attach,       ///< /attach, likewise
    port_forward, ///< /portForward/NAMESPACE/POD[/UID]
    pods,         ///< /pods
    running_pods, ///< /runningpods
    health,       ///< /healthz
  };
  What what = What::health;
  std::string name_space, pod, container; ///< names as Kubernetes has them
  std::string uid;                        ///< of the pod; "": the path names none
  translate::Params params;               ///< as the API server of the upstream calls them

  bool of_pod() const { return what <= What::port_forward; }
};

/// `target`: path and query. Code::not_found for what is not served here; Code::bad_request for a
/// name that is none, a parameter that cannot be read, or another method.
Result<KubeletRequest> parse_kubelet_request(std::string_view method, std::string_view target);

/// "/api/v1/namespaces/default/pods/p/exec?container=c&command=sh&stdin=true" of a request that is
/// of_pod(); in the names of the virtual cluster.
std::string api_target(const KubeletRequest& request);
/// "/api/v1/namespaces/default/pods/p".
std::string pod_path(std::string_view name_space, std::string_view pod);

} // namespace zoo::clusters
