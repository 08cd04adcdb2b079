// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"
#include "daemon/admin/negotiate.hpp"
#include "daemon/admin/selectors.hpp"
#include "daemon/admin/table.hpp"
#include "daemon/tenants/service.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace zoo::admin {

class Workers;

/// What one watch was asked for, and the list it begins with.
struct WatchPlan {
  Representation representation;
  RowObject row = RowObject::metadata;
  Selectors selectors;
  bool bookmarks = false;           ///< allowWatchBookmarks
  bool emit_initial = false;        ///< send `initial` as ADDED events
  bool mark_initial_end = false;    ///< then the annotated bookmark (KEP-3157)
  std::chrono::seconds timeout{};   ///< 0 = the server's choice
  std::int64_t revision = 0;        ///< everything after it is sent
  std::vector<api::Tenant> initial; ///< all tenants at about `revision`; empty if nobody needs it
  std::optional<Error> refused;     ///< 410: goes out as the only event
};

/// Changes on their way from the store's thread to a loop. Made on a worker, then attached to and
/// taken from on one loop. Bounded: a reader who is slower than k_queue_limit changes is cut off
/// and comes back with its last resourceVersion. Its subscription is put away on a worker.
class WatchFeed {
public:
  static constexpr std::size_t k_queue_limit = 1000;

  WatchFeed(WatchPlan plan, Workers& workers);
  ~WatchFeed();
  WatchFeed(const WatchFeed&) = delete;
  WatchFeed& operator=(const WatchFeed&) = delete;

  Result<void> open(tenants::TenantService& service); ///< worker thread: blocks
  void attach(std::function<void()> wake); ///< called on any thread when there is something to take
  std::optional<tenants::TenantChange> take();
  bool overflowed() const;
  WatchPlan& plan() { return plan_; }

private:
  struct Queue;
  WatchPlan plan_;
  Workers& workers_;
  std::shared_ptr<Queue> queue_;
  std::unique_ptr<tenants::Subscription> subscription_;
};

/// Turns changes into the lines of a watch: {"type": ..., "object": ...}. Knows which tenants the
/// client has seen, so that one which stops matching a selector is DELETED for it. Pure; one
/// thread.
class WatchEncoder {
public:
  explicit WatchEncoder(const WatchPlan& plan);

  std::string initial(const api::Tenant& tenant, std::int64_t now); ///< "" if it does not match
  std::string change(const tenants::TenantChange& change, std::int64_t now); ///< "" if not seen
  std::string bookmark(bool initial_end);
  std::string error(const Error& error);
  std::int64_t revision() const { return revision_; } ///< up to here the client has everything

private:
  enum class Seen { no, yes, unknown };
  Seen seen(const tenants::TenantChange& change) const;
  std::string line(const char* type, const api::Tenant& tenant, std::int64_t now);

  const WatchPlan& plan_;
  std::unordered_map<std::string, bool> matched_;
  bool complete_; ///< matched_ lacks nobody: who is absent has not been seen
  bool columns_ = true;
  std::int64_t revision_;
};

} // namespace zoo::admin
