// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/flow_share.hpp"
#include "daemon/reconcile/queue.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/store/session.hpp"
#include "daemon/store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zoo::replicas {

/// Records of what tenants have in progress at each zood: the key is the zood's name.
inline constexpr std::string_view k_flow_kind = "flow";

/// What each zood has in progress, by the tenant's ID.
using FlowByTenant = std::unordered_map<std::string, access::FlowOthers>;

/// Tells the other zoods that have this store open what tenants have in progress here, and this
/// one what they have there, so that a tenant's limits of requests hold over all of them together.
/// Once a second: between two reports each zood lets in what the limits leave by the last one.
/// One thread, "flows-1", blocks for the store. While the store cannot be reached this zood goes by
/// the last reports.
class FlowReports {
public:
  struct Parts {
    store::Store& store;
    store::Session& session;
    /// What is worth telling to so many zoods, of at most so many tenants.
    std::function<FlowByTenant(std::uint32_t zoods, std::size_t most)> here;
    /// What all others have together, and how many zoods there are, this one too.
    std::function<void(FlowByTenant others, std::uint32_t zoods)> told;
    std::chrono::milliseconds every{1'000};
  };

  explicit FlowReports(Parts parts);
  /// Removes the own record, as far as the store can be reached.
  ~FlowReports();
  FlowReports(const FlowReports&) = delete;
  FlowReports& operator=(const FlowReports&) = delete;

  static constexpr std::size_t k_most_tenants = 1'000; ///< of one report (docs/limits.md)

private:
  Result<reconcile::Next> look();
  Result<void> tell(std::uint32_t zoods); ///< writes nothing where nothing has changed

  const Parts parts_;
  std::optional<FlowByTenant> last_; ///< as it stands in the store; nothing: that is not known
  reconcile::Queue queue_;
  std::optional<reconcile::Runner> runner_; ///< its thread uses all the rest
};

} // namespace zoo::replicas
