// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/http/message.hpp"
#include "daemon/translate/query.hpp"
#include "daemon/upstream/list_source.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::net {
class Loop;
}

namespace zoo::upstream {

/// What to watch, in upstream's names.
struct WatchRequest {
  http::RequestHead head;       ///< GET, path without query, Accept, impersonation
  translate::Params params;     ///< selectors, includeObject
  std::string resource_version; ///< events after it; never "" or "0": see list_range()
  bool bookmarks = false;
  std::optional<std::int64_t> timeout_seconds;
  std::vector<KeyRange> ranges; ///< only objects in one of them; empty: all
  bool all_namespaces = false;
  bool table = false;

  // For subscribe():
  std::string kind, api_version; ///< of the objects, as upstream writes them
  std::string owner;             ///< who is counted for a stream of its own: a tenant
  bool owned_kind = false; ///< nobody else has it, so that the kind's stream is `owner`'s, too
  /// Is resource_version of a list that zood has just made? Else it is a client's word.
  bool trusted_version = false;
  /// Keys, as in `ranges`, of the objects that the selectors chose at resource_version; nullopt:
  /// not known. See keeps_keys().
  std::optional<std::vector<std::string>> keys;
  /// Of the keys in `ranges` only those are offered by a shared stream, where one owner's do not
  /// stand together; null: all.
  std::function<bool(std::string_view key)> shows{};
  /// The head of the stream that this hangs on; of a shared one nothing but its Warnings.
  HeadListener heard{};
};

/// Why a watch is over. All empty: upstream ended it in order.
struct WatchEnd {
  std::optional<Error> error; ///< of the way
  int http_status = 0;        ///< upstream refused it, with `body`
  std::string body{};
  bool unread = false; ///< zood has ended it in order: too much waited to be read
};

/// Hears a watch, on the loop that subscribed. Must not destroy the subscription in a callback.
class WatchHandler {
public:
  virtual ~WatchHandler() = default;
  virtual void on_watch_begin() = 0; ///< upstream has accepted it
  /// An event of so many bytes would come now. False: there is no room for it; a shared watch asks
  /// again for some seconds, and then ends in order. Others do not ask.
  virtual bool take_room(std::size_t) { return true; }
  /// One event as upstream wrote it; an object of the ranges, a BOOKMARK or an ERROR.
  virtual void on_watch_event(std::string_view event) = 0;
  /// A Table of an object that is in none of the ranges, for its columns: upstream sends them once.
  virtual void on_watch_columns(std::string_view /*table*/) {}
  /// A shared watch has a BOOKMARK to make: one may go on from this resourceVersion.
  virtual void on_watch_bookmark(std::string_view) {}
  /// Upstream is out of reach (true), or is followed again from where it was (false).
  virtual void on_watch_stalled(bool) {}
  virtual void on_watch_end(const WatchEnd& end) = 0; ///< once, last
};

/// A running watch; destroying it ends it.
class WatchSubscription {
public:
  virtual ~WatchSubscription() = default;
  virtual void pause() = 0;
  virtual void resume() = 0;
  /// The resourceVersion from which its client may go on without missing anything, for a last
  /// bookmark; nullopt where the client wants none, or something still waits to be told.
  virtual std::optional<std::string> position() const { return std::nullopt; }
};

/// May such a watch hang on the kind's shared one (DESIGN 7)? Not a Table, and not one whose
/// selectors zood cannot judge.
bool shareable(const WatchRequest& request);

/// Does a subscriber to it keep the keys of what it has seen, so that it wants `keys`?
bool keeps_keys(const WatchRequest& request);

/// Keys for WatchRequest::keys while a list tells them: counted for their tenant as those that a
/// watch keeps are. Loop thread.
class WatchKeys {
public:
  virtual ~WatchKeys() = default;
  virtual void add(std::string_view key) = 0;
  /// nullopt: there were too many, or the tenant keeps too much.
  virtual std::optional<std::vector<std::string>> take() = 0;
};
std::unique_ptr<WatchKeys> watch_keys(Upstream& upstream, net::Loop& loop,
                                      const std::string& owner);

/// Subscribes: to the shared watch where that can be, as zood itself whatever the impersonation in
/// `request.head`, so whoever asks has proven the path and the ranges; else by a stream of its own
/// with that head. No callback comes from inside. Loop thread.
std::unique_ptr<WatchSubscription> subscribe(Upstream& upstream, net::Loop& loop,
                                             WatchRequest request, WatchHandler& handler);

/// One upstream stream for this subscriber.
std::unique_ptr<WatchSubscription> subscribe_alone(Caller& caller, WatchRequest request,
                                                   WatchHandler& handler);

} // namespace zoo::upstream
