// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/access/principal.hpp"
#include "daemon/authz/rights.hpp"
#include "daemon/authz/rule.hpp"

#include <optional>
#include <string_view>

namespace zoo::resources {
class Api;
class Workers;
} // namespace zoo::resources
namespace zoo::translate {
struct Target;
}

namespace zoo::access {

/// An API that zood serves itself inside a view: its kinds are computed for each caller. The
/// composition root owns it; it outlives every request. Thread-safe.
class LocalApi {
public:
  virtual ~LocalApi() = default;
  /// Is this request about an object, or a list of them, answered here and not by upstream? On the
  /// loop; never blocks. `content_type`: of the body that it has.
  virtual bool serves(const Principal& principal, const translate::Target& target,
                      std::string_view content_type) const = 0;
  /// Is it a list or a watch of a kind that serves() leaves to upstream for some callers, and not
  /// for others? The rights that decide may change while clients follow the kind. Never blocks.
  virtual bool divides(const translate::Target& target) const = 0;
  /// What an access review says of a request that is answered here and that upstream would refuse
  /// him; nothing: upstream says. Never blocks.
  virtual std::optional<authz::Decision> decides(const Principal& principal,
                                                 const authz::Attributes& attributes) const = 0;
  /// What answers it, on one of the workers.
  virtual const resources::Api& api() const = 0;
  virtual resources::Workers& workers() const = 0;
};

/// The rights that users of the upstream have there. Thread-safe.
class UpstreamRights {
public:
  virtual ~UpstreamRights() = default;
  /// As they are known at this moment; the same pointer as long as nothing has changed.
  /// Code::unavailable, with the reason, while they are not known. Never blocks.
  virtual Result<authz::RightsPtr> rights() const = 0;
};

} // namespace zoo::access
