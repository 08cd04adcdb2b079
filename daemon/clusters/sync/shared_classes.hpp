// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/sync_room.hpp"
#include "daemon/translate/mapping.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace zoo::clusters::sync {

/// A kind of classes that the platform shares with clusters, as it does with tenants.
struct ClassKind {
  translate::Overlay overlay;
  std::string_view group, version, resource, kind;
  std::string collection() const;
};

/// On each class in a cluster that is the upstream's.
inline constexpr const char* k_class_label = "virtual-cluster/of-upstream";

/// A class of the upstream's as the cluster has it: without what only the upstream's own drivers
/// read (parameters, topologies). Pure.
nlohmann::json shown_class(const ClassKind& kind, const nlohmann::json& upstream);

/// Keeps StorageClasses, PriorityClasses, RuntimeClasses and IngressClasses that are shared in one
/// cluster: what is changed or taken away there comes back, and one of the same name that is the
/// cluster's own stays. One thread at a time.
class SharedClasses {
public:
  explicit SharedClasses(const SyncRoom& room) : room_(room) {}
  /// The key "c/" of the queue. Blocking. `names`: what is shared now.
  Result<WorkNext> work(std::shared_ptr<const translate::SharedNames> names);

private:
  Result<void> keep(const ClassKind& kind, const translate::SharedNames& names,
                    const WorkTime& time);
  Result<void> keep_one(const ClassKind& kind, const nlohmann::json& wanted,
                        const std::optional<nlohmann::json>& there);

  const SyncRoom& room_;
  std::shared_ptr<const translate::SharedNames> seen_;
  bool missing_ = false; ///< one that is shared is not there upstream yet
  /// Paths of those that were looked at in this round, whose time was over in between.
  std::set<std::string> kept_;
  std::chrono::steady_clock::time_point looked_{};
};

} // namespace zoo::clusters::sync
