// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/controller.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/upstream/change_follower.hpp"
#include "daemon/upstream/connections.hpp"
#include "daemon/upstream/upstream.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace zoo::clusters {

struct OrderParts {
  store::Store& store;
  Controller& controller;
  upstream::Upstream& upstream;
  net::Loop& loop; ///< on which the upstream's objects are followed
  std::function<std::unique_ptr<upstream::ControlApi>()> connect;
  bool kubeconfig_in_cr = true; ///< spec.kubeconfig is written upstream
};

/// VirtualCluster objects of the upstream, which order clusters as the admin API does. Upstream's
/// spec is the truth; zood writes status and spec.kubeconfig there, and holds a finalizer. Deletion
/// from either side ends both. An order for a name that the admin API has given to another cluster
/// is Pending. Level-triggered: thread "orders-1" looks at a name, whatever has changed.
class Orders {
public:
  explicit Orders(OrderParts parts);
  ~Orders();
  Orders(const Orders&) = delete;

  void start();
  /// While the loop still turns, and before the controller goes. What is written later is not told.
  void stop();
  /// A record has been written: upstream may have to hear of it. Any thread.
  void written(const std::string& key) { queue_.add(key, std::chrono::milliseconds(0)); }
  /// "" or why orders of the upstream are not followed.
  std::string trouble() const;

private:
  using Next = reconcile::Next;
  Result<Next> look(const std::string& key);
  void follow();
  Result<Next> look_at_all(upstream::ControlApi& api);
  Result<Next> answer(upstream::ControlApi& api, const std::string& path,
                      const nlohmann::json& order, const Record& record);
  Result<Next> take(upstream::ControlApi& api, const std::string& path,
                    const nlohmann::json& order);
  Result<void> write_status(upstream::ControlApi& api, const std::string& path,
                            const nlohmann::json& order, const nlohmann::json& status);
  Result<void> release(upstream::ControlApi& api, const std::string& path,
                       const nlohmann::json& order);
  void set_trouble(std::string text);

  OrderParts parts_;
  upstream::Connections connections_;
  std::unique_ptr<upstream::ChangeFollower> follower_;
  bool follows_ = false; ///< of the runner's thread
  mutable std::mutex mutex_;
  std::string trouble_;
  reconcile::Queue queue_;
  std::optional<reconcile::Runner> runner_; ///< last: its thread uses all the rest
};

} // namespace zoo::clusters
