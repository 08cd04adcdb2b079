// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/access/principal.hpp"
#include "daemon/access/view.hpp"

#include <memory>

namespace zoo::upstream {
class Upstream;
}

namespace zoo::access {

/// What authentication gives a request: where it goes, what its client sees there, and who he is.
/// Nothing behind asks again who the client is or for another upstream. `upstream` outlives every
/// request.
struct Route {
  upstream::Upstream& upstream;
  std::shared_ptr<const View> view;
  std::shared_ptr<const Principal> who;

  const Principal& principal() const { return *who; }
};

} // namespace zoo::access
