// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/sync_room.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

namespace zoo::clusters::sync {

/// On a namespace upstream: the keys of the labels that come from the cluster, in a JSON list.
inline constexpr const char* k_labels_annotation = "clusters.zoo.kubezoo.io/labels";

/// What of the labels of a namespace of the cluster upstream's does not have: a merge patch of it,
/// or null. Those of Pod Security stay in the cluster, whose API server holds its pods to them:
/// upstream the platform's level holds. A label that the platform has put there stays as it is.
/// Pure.
nlohmann::json labels_patch(const nlohmann::json& own, const nlohmann::json& there);

/// Keeps the labels of one cluster's namespaces upstream, by which its NetworkPolicies choose
/// namespaces. A thread "hear-<id>-n" lists and watches the cluster's; namespaces that are not
/// upstream have their labels when they are made there. As user `zoo:<id>`, whom the upstream's
/// policies hold to its own namespaces.
class NamespaceLabels {
public:
  explicit NamespaceLabels(const SyncRoom& room) : room_(room) {}
  ~NamespaceLabels(); ///< ends the thread; nobody may be in work()
  NamespaceLabels(const NamespaceLabels&) = delete;

  void start();
  /// A key of the queue without "s/": a namespace, in the cluster's names. Any thread; blocks.
  /// `attempts`: before this one.
  Result<WorkNext> work(const std::string& name_space, unsigned attempts);

  static constexpr std::size_t k_most = 10'000; ///< of which it is known that nothing has changed

private:
  Result<void> one_by_one(upstream::ControlApi& api, const std::string& upstreams,
                          const nlohmann::json& patch) const;
  Result<void> listen_once(const std::stop_token& stop);
  void note(const nlohmann::json& name_space);

  const SyncRoom& room_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint64_t> seen_; ///< fingerprints of labels
  std::jthread thread_;                                 ///< last: it uses all the rest
};

} // namespace zoo::clusters::sync
