// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/watch_source.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace zoo::upstream {

class Upstream;

/// Bounds of the shared watches (docs/limits.md). Only tests change them.
struct SharedWatchLimits {
  std::size_t window_events = 4'096;          ///< of one kind, for clients that resume
  std::size_t window_bytes = 4u << 20;        ///< the same
  std::size_t owned_window_bytes = 64u << 10; ///< of a kind that only one tenant has
  std::size_t queue_events = 8'192;           ///< of one subscriber who does not read
  std::size_t queue_bytes = 8u << 20;         ///< the same
  std::size_t owner_bytes = 32u << 20;  ///< waiting events of one tenant on one loop, and its keys
  std::size_t backlog = 65'536;         ///< events on their way to one loop, in KiB
  std::size_t keys = 100'000;           ///< kept by one subscriber for its selectors
  std::size_t feeds = 8;                ///< upstream streams of one kind at the same time
  std::size_t bridge_bytes = 32u << 20; ///< differences over a gap
  std::size_t alone = 1'000;            ///< streams that are not shared, of all
  std::size_t alone_of_owner = 100;     ///< of these, one tenant's
  std::chrono::milliseconds room_pause{20};   ///< after which it is asked again for room
  std::chrono::milliseconds room_wait{5'000}; ///< an event without room ends its watch
  std::chrono::milliseconds linger{30'000};   ///< a kind without subscribers is still followed
  std::chrono::milliseconds bookmark{50'000};
  std::chrono::milliseconds silence{90'000}; ///< upstream sends a bookmark a minute
  /// Of the time since somebody heard it, a stream that nobody hears is not read for this part.
  double rest_part = 1.0 / 20;
  std::chrono::milliseconds shortest_rest{10}, longest_rest{100};
  std::chrono::milliseconds rest_gap{25};     ///< between two events: above, no rest is worth it
  std::size_t rest_bytes = 64u << 10;         ///< that may come in a rest
  std::chrono::milliseconds spread{10'000};   ///< over which subscribers are sent away
  std::chrono::milliseconds patience{30'000}; ///< with a refusal of what was served before
  std::chrono::milliseconds first_pause{100}, longest_pause{5'000}; ///< before upstream is asked
  /// A watch without timeoutSeconds, as upstream's (minRequestTimeout in
  /// apiserver/pkg/endpoints/handlers/get.go); at most twice that, so that not all end at once.
  std::chrono::seconds shortest{1'800};
  std::chrono::seconds longest{1'000'000}; ///< whatever timeoutSeconds says
};

/// The watches of one upstream that many subscribers share: one stream a kind and encoding. Each
/// kind has a home, one of the loops, where its stream is read and told apart; subscribers hear it
/// on their own loops (docs/threads.md). Owned by Upstream; any thread where nothing else is said.
class SharedWatches {
public:
  SharedWatches(Upstream& upstream, const std::vector<net::Loop*>& loops);
  ~SharedWatches();
  SharedWatches(const SharedWatches&) = delete;
  SharedWatches& operator=(const SharedWatches&) = delete;

  void set_limits(const SharedWatchLimits& limits); ///< before the first subscription

  /// See subscribe(). On the thread of `loop`.
  std::unique_ptr<WatchSubscription> subscribe(net::Loop& loop, WatchRequest request,
                                               WatchHandler& handler);

  /// See watch_keys(). On the thread of `loop`.
  std::unique_ptr<WatchKeys> keys(net::Loop& loop, const std::string& owner);

  /// A place among the streams that are not shared, given back with the last copy; null: `owner`,
  /// or everybody, has too many.
  std::shared_ptr<void> take_place(const std::string& owner);

  struct Stats {
    std::size_t streams = 0;     ///< upstream, shared
    std::size_t subscribers = 0; ///< of these
    std::size_t alone = 0;       ///< places taken
  };
  Stats stats() const;

  struct Impl; ///< watch_parts.hpp, for the files of the shared watches
private:
  std::shared_ptr<Impl> impl_;
};

} // namespace zoo::upstream
