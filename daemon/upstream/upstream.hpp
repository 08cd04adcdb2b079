// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/discovery.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/upstream/call.hpp"
#include "daemon/upstream/pool.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::net {
class Loop;
}

namespace zoo::upstream {

enum class Freshness {
  any,    ///< whatever is known; fetched if nothing is
  recent, ///< as of a second ago, or of now while definitions are changing
  now,    ///< fetched after this call
};

using CatalogPtr = std::shared_ptr<const translate::Catalog>;

/// One real cluster: its connections, what it serves, what its platform shares. Several may exist.
/// Made before the loops run, destroyed after they have stopped; functions say their threads.
class Upstream {
public:
  Upstream(std::shared_ptr<const UpstreamEndpoint> endpoint, std::vector<net::Loop*> loops,
           PoolLimits limits);
  ~Upstream();

  /// Begins to follow what the platform shares (on the first loop). `is_tenant(id)` tells a class
  /// of a tenant ("<id>-...") from one of the platform; any thread.
  void start(std::function<bool(std::string_view id)> is_tenant);

  const UpstreamEndpoint& endpoint() const;

  /// The pool of that loop; that loop's thread.
  Caller& caller(net::Loop& loop);

  /// What upstream serves. `done` comes on `loop`, never inside this call. Loop thread.
  void fresh_catalog(net::Loop& loop, Freshness freshness,
                     std::function<void(Result<CatalogPtr>)> done);

  /// What the platform shares with tenants; any thread. Never null.
  std::shared_ptr<const translate::SharedNames> shared_names() const;

  /// How many items the last range list of `key` had (a page size that fits); any thread.
  std::size_t page_hint(std::string_view key) const;
  void learn_page(std::string_view key, std::size_t items);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace zoo::upstream
