// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/upstream/shared_event.hpp"
#include "daemon/upstream/shared_watches.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

/// What the two sides of the shared watches know of each other.
///
/// Home side (watch_hub, watch_feed, watch_bridge): one Hub a kind, on one loop. Subscriber side
/// (watch_branch): one Branch a loop. They talk by Loop::post alone; what a Hub says to a Branch
/// comes in order, many things at a time.
namespace zoo::upstream {

/// What is watched, and in which encoding.
struct WatchKind {
  std::string path;   ///< of the whole cluster
  std::string accept; ///< JSON, of objects or of their metadata
  bool namespaced = false;
  std::string kind, api_version;
  std::string owner; ///< of whose own it is, and who is counted for its streams; "": everybody's

  std::string name() const { return path + " " + accept; } ///< of its hub
};
using WatchKindPtr = std::shared_ptr<const WatchKind>;

/// A subscriber as its kind's home knows it.
struct Joining {
  std::uint64_t id = 0; ///< one of all loops
  std::size_t loop = 0; ///< where it hears, an index
  std::string bucket;   ///< bucket_of() all its keys; "": any
  std::uint64_t version = 0;
  bool trusted = false;
};

class Listeners;
class Branch;
class Home;

/// One thing that a home says to a loop: an event of a feed, or what to do there.
struct Said {
  std::uint32_t feed = 0;
  EventPtr event;
  std::function<void(Listeners&)> task;
};

struct SharedWatches::Impl {
  Impl(Upstream& owner, const std::vector<net::Loop*>& loops);
  ~Impl();

  Upstream& upstream;
  SharedWatchLimits limits;
  /// One loop's parts; used on that loop alone, but for `waiting`.
  struct Place {
    net::Loop* loop = nullptr;
    std::unique_ptr<Home> home;
    std::unique_ptr<Branch> branch;
    std::atomic<std::size_t> waiting{0}; ///< said to it, not heard yet, in KiB
  };
  std::vector<std::unique_ptr<Place>> places;

  Place& home_of(const WatchKind& kind);
  std::size_t index_of(const net::Loop& loop) const;

  std::atomic<std::uint32_t> last_feed{0}; ///< no number is given twice
  std::atomic<std::size_t> streams{0}, subscribers{0};
  std::mutex alone_mutex; ///< for a few instructions, when such a stream begins or ends
  std::size_t alone = 0;
  std::map<std::string, std::size_t> alone_by_owner;
};

/// The Accept of a list of what a watch of `accept` sends.
std::string list_accept(std::string_view accept);

} // namespace zoo::upstream
