// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/kind.hpp"
#include "daemon/resources/negotiate.hpp"
#include "daemon/resources/selectors.hpp"
#include "daemon/resources/table.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace zoo::resources {

/// What one watch was asked for, and the list it begins with.
struct WatchPlan {
  KindPtr kind;
  Who caller;
  std::string space; ///< of one namespace; empty: of all
  Representation representation;
  RowObject row = RowObject::metadata;
  Selectors selectors;
  bool bookmarks = false;         ///< allowWatchBookmarks
  bool emit_initial = false;      ///< send `initial` as ADDED events
  bool mark_initial_end = false;  ///< then the annotated bookmark (KEP-3157)
  std::chrono::seconds timeout{}; ///< 0 = the server's choice
  std::int64_t revision = 0;      ///< everything after it is sent
  std::vector<ObjectPtr> initial; ///< all objects at about `revision`; empty if nobody needs it
  std::optional<Error> refused;   ///< 410: goes out as the only event
};

/// Runs something later on a thread that may block: a subscription's end waits for its callback.
using Later = std::function<void(std::function<void()>)>;

/// Changes on their way from a backing's thread to a loop. Made where one may block, then attached
/// to and taken from on one loop. Bounded: a reader who is slower than k_queue_limit changes is cut
/// off and comes back with its last resourceVersion. Its subscription is put away by `later`.
class WatchFeed {
public:
  static constexpr std::size_t k_queue_limit = 1000;

  WatchFeed(WatchPlan plan, Later later);
  ~WatchFeed();
  WatchFeed(const WatchFeed&) = delete;
  WatchFeed& operator=(const WatchFeed&) = delete;

  Result<void> open();                     ///< blocks as the backing's watch() does
  void attach(std::function<void()> wake); ///< called on any thread when there is something to take
  std::optional<Change> take();
  bool overflowed() const;
  void close(); ///< ends the subscription and forgets who is to be woken
  WatchPlan& plan() { return plan_; }

private:
  struct Queue;
  WatchPlan plan_;
  Later later_;
  std::shared_ptr<Queue> queue_;
  std::unique_ptr<Subscription> subscription_;
};

/// Turns changes into the lines of a watch: {"type": ..., "object": ...}. Knows which objects the
/// client has seen, so that one which stops matching a selector is DELETED for it. Pure; one
/// thread.
class WatchEncoder {
public:
  explicit WatchEncoder(const WatchPlan& plan);

  std::string initial(const nlohmann::json& object, std::int64_t now); ///< "" if it matches not
  /// "" if it is nothing to the client. A bookmark follows where the object's resourceVersion does
  /// not say how far the watch has come.
  std::string change(const Change& change, std::int64_t now);
  std::string bookmark(bool initial_end);
  std::string error(const Error& error);
  std::int64_t revision() const { return revision_; } ///< up to here the client has everything

private:
  enum class Seen { no, yes, unknown };
  Seen seen(const Change& change, const Key& key) const;
  std::string told(const Change& change, const Key& key, std::int64_t now);
  std::string line(const char* type, const nlohmann::json& object, std::int64_t now);

  const WatchPlan& plan_;
  std::map<Key, bool> matched_;
  bool complete_; ///< matched_ lacks nobody: who is absent has not been seen
  bool columns_ = true;
  std::int64_t revision_;
};

} // namespace zoo::resources
