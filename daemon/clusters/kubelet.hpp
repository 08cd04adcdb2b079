// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/look_pace.hpp"
#include "daemon/http/field_lines.hpp"
#include "daemon/http/stream.hpp"
#include "daemon/upstream/call.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace zoo::clusters {

/// What the kubelets of one virtual cluster stand on, on its loop; all of it outlives them.
struct KubeletParts {
  std::string id;                              ///< of the cluster
  upstream::Caller& cluster;                   ///< its API server, as zood
  std::function<upstream::Caller&()> upstream; ///< as zood, on this loop
  std::shared_ptr<const http::FieldLines> as;  ///< the cluster's user upstream
  http::Service& inward;                       ///< the gateway of that user, in the cluster's names
  /// The name of the Node with that address; `done` comes once, on this loop.
  std::function<void(const std::string& address, std::function<void(Result<std::string>)> done)>
      node_of;
  LookPace& pace; ///< of the cluster, for pods that are looked at
};

/// Bytes of a pod that is looked at; etcd holds no larger object.
inline constexpr std::size_t k_most_pod = 2u << 20;

/// What the API server of a virtual cluster takes for the kubelets of its Nodes. Logs, exec, attach
/// and port-forward go on as requests to the pod upstream that is the copy of the cluster's: a pod
/// that is none of the cluster's, or another one by now, is refused. Errors are text, as a
/// kubelet's. One a cluster, on its loop.
class KubeletService final : public http::Service {
public:
  explicit KubeletService(KubeletParts parts)
      : parts_(std::make_shared<const KubeletParts>(std::move(parts))) {}
  std::unique_ptr<http::StreamHandler> on_request(http::RequestHead head,
                                                  http::ServerStream& stream) override;

private:
  std::shared_ptr<const KubeletParts> parts_;
};

} // namespace zoo::clusters
