// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/ordered_chunks.hpp"
#include "common/base/result.hpp"
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/call.hpp"
#include "daemon/upstream/pool.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::net {
class Loop;
}

namespace zoo::upstream {

class OpenApiCache;
class OwnerIndex;
class PageSpaces;
class SharedWatches;

enum class Freshness {
  any, ///< whatever is known; fetched if nothing is
  now, ///< asked after this call: fetches are shared, two in a row at most
};

/// Whose PriorityClasses are that a pod gets which names none.
inline constexpr std::string_view k_default_priority = "default";

using CatalogPtr = std::shared_ptr<const translate::Catalog>;

/// One real cluster: its connections, what it serves, what its platform shares. Several may exist.
/// Made before the loops run and destroyed after they have stopped.
class Upstream {
public:
  /// `loops`: of which shared watches are made. `others` have connections of their own as well, for
  /// what follows upstream on them alone (ChangeFollower).
  Upstream(std::shared_ptr<const UpstreamEndpoint> endpoint, const std::vector<net::Loop*>& loops,
           PoolLimits limits, const std::vector<net::Loop*>& others = {});
  ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  const UpstreamEndpoint& endpoint() const;

  void set_limits(const PoolLimits& limits); ///< for calls from now on; any thread

  /// The connections of that loop; on its thread.
  Caller& caller(net::Loop& loop);
  void set_caller(net::Loop& loop, Caller& caller); ///< another one there; for tests, at first

  /// Of all loops together. Waits for them, a second at most; loops that have not answered by then
  /// are not counted. Not on a loop.
  Pool::Stats connections() const;
  Tally& tally() const; ///< any thread

  /// What upstream serves; kept by ETag, one fetch at a time for all loops. `done` comes on `loop`;
  /// at once, inside this call, when what is known will do. Loop thread.
  void catalog(net::Loop& loop, Freshness freshness, std::function<void(Result<CatalogPtr>)> done);
  CatalogPtr known_catalog() const; ///< what it would answer at once, for Freshness::any; else null

  /// What the platform shares with tenants. Any thread; never null.
  std::shared_ptr<const translate::SharedNames> shared_names() const;
  void set_shared_names(std::shared_ptr<const translate::SharedNames> names);

  /// Namespaces whose tenant label is missing or is not their prefix: never a tenant's, whatever
  /// their names. Followed by a watch that start() begins. Any thread; never null.
  /// Code::unavailable until they are known.
  using Names = OrderedNames;
  Result<std::shared_ptr<const Names>> unlabelled_namespaces() const;
  /// Definitions without the tenant label: the platform's, and those of tenants that zood has not
  /// written. Followed likewise; null: not known now. What somebody else makes comes a moment
  /// later.
  std::shared_ptr<const Names> unlabelled_definitions() const;
  OwnerIndex& definitions() const; ///< by their tenant label; any thread
  OwnerIndex& volumes() const;   ///< PersistentVolumes by the namespace of their claim; any thread
  OwnerIndex& addresses() const; ///< IPAddresses by the namespace of their Service; any thread
  OwnerIndex& attachments() const; ///< VolumeAttachments by their volume and a slash; any thread
  OwnerIndex& priorities() const;  ///< PriorityClasses: k_default_priority's; any thread
  void start();                    ///< any thread; once

  /// Does upstream begin a list at a position that zood makes? Tried once, at start(), and believed
  /// until it is known. Any thread.
  bool range_reads() const;
  void set_range_reads(bool works); ///< decides it instead of the trial; before start()

  /// A number that a list has left for those after it, see list_range(); 0 if none is remembered.
  /// Bounded. Any thread.
  std::size_t remembered(const std::string& key) const;
  void remember(const std::string& key, std::size_t number);

  PageSpaces& page_spaces() const; ///< any thread

  /// Converted OpenAPI documents. Any thread.
  OpenApiCache& openapi_cache();

  /// The watches that subscribers share, see subscribe(). Any thread.
  SharedWatches& watches();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::upstream
