// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace zoo::api {
struct Tenant;
}
namespace zoo::upstream {
class ControlApi;
}

namespace zoo::tenants {

/// Where what a Tenant has upstream is, if it is not simply there: an upstream may have another
/// store than it had.
struct RoomPlace {
  enum class Is : std::uint8_t {
    here,      ///< it may be taken away
    elsewhere, ///< nothing that is here is its
    given_up   ///< elsewhere, where it stays: nobody waits for that store any more
  };
  Is is = Is::here;
  std::string words = {}; ///< of `elsewhere`: what is waited for, and what else to do
};
using PlaceOfRoom =
    std::function<Result<RoomPlace>(upstream::ControlApi& api, const api::Tenant& tenant)>;

/// Tenants of class `cluster`: each is what one virtual cluster has upstream, under the cluster's
/// ID. They are made here and by nobody else, stand in no list, and have no credentials. Blocking
/// (store, upstream); any thread. All errors carry a sentence for the administrator.
class ClusterTenants {
public:
  virtual ~ClusterTenants() = default;

  /// Makes the Tenant of this ID if it is not there. `owner`: "<namespace>/<name>" of the cluster,
  /// for people. True: it is Ready. Code::conflict: something upstream, or another Tenant, has the
  /// ID.
  virtual Result<bool> make(std::string_view id, std::string_view owner) = 0;

  /// Has the Tenant of this ID removed, with all that it has upstream. Nothing: it is gone, and
  /// upstream was proven to be empty of it, or given up. Else what it waits for, in words.
  virtual Result<std::optional<std::string>> remove(std::string_view id) = 0;

  /// Makes a namespace of it upstream with the fence of its Tenant, or brings it in order: user
  /// `zoo:<id>` may write there when this returns. Code::conflict: it is somebody else's, or is
  /// being deleted.
  virtual Result<void> open_namespace(upstream::ControlApi& api, std::string_view id,
                                      const std::string& upstream_name) = 0;
};

} // namespace zoo::tenants
