// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/upstream/list_source.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {

/// What to watch, in upstream's names.
struct WatchRequest {
  http::RequestHead head;       ///< GET, path without query, Accept, impersonation
  translate::Params params;     ///< selectors, includeObject
  std::string resource_version; ///< events after it; never "" or "0": see list_range()
  bool bookmarks = false;
  std::optional<std::int64_t> timeout_seconds;
  std::size_t max_object = 8u << 20;
  std::vector<KeyRange> ranges; ///< only objects in one of them; empty: all
  bool all_namespaces = false;
  bool table = false;
};

/// Why a watch is over. All empty: upstream ended it in order.
struct WatchEnd {
  std::optional<Error> error; ///< of the way
  int http_status = 0;        ///< upstream refused it, with `body`
  std::string body;
};

/// Hears a watch, on the loop that subscribed. Must not destroy the subscription in a callback.
class WatchHandler {
public:
  virtual ~WatchHandler() = default;
  virtual void on_watch_begin() = 0; ///< upstream has accepted it
  /// One event as upstream wrote it; an object of the ranges, a BOOKMARK or an ERROR.
  virtual void on_watch_event(std::string_view event) = 0;
  virtual void on_watch_end(const WatchEnd& end) = 0; ///< once, last
};

/// A running watch; destroying it ends it.
class WatchSubscription {
public:
  virtual ~WatchSubscription() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
};

/// Subscribes. How many upstream streams serve how many subscribers is this function's secret (one
/// each, in this version). No callback comes from inside. Loop thread.
std::unique_ptr<WatchSubscription> subscribe(Caller& caller, WatchRequest request,
                                             WatchHandler& handler);

} // namespace zoo::upstream
