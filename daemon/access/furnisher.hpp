// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace zoo::net {
class Loop;
}

namespace zoo::access {

/// Puts into a tenant's namespace what has to be there before the tenant reaches it: its part of
/// the quotas, and its templates. Any thread; never blocks.
class Furnisher {
public:
  virtual ~Furnisher() = default;
  /// Is there anything that the namespaces of this tenant need?
  virtual bool concerns(std::string_view tenant) const = 0;
  /// `space`: upstream's name. What is there already stays; several calls for one namespace do it
  /// once. `done` comes once, on `loop`, never from inside this call. Code::invalid: a template
  /// cannot be made, and nothing of it is left; Code::timeout: it takes longer and goes on;
  /// Code::unavailable, Code::conflict: to be tried again.
  virtual void furnish(std::string_view tenant, std::string_view space, net::Loop& loop,
                       std::function<void(const Result<void>&)> done) const = 0;
};

} // namespace zoo::access
