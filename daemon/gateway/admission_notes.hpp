// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/target.hpp"

#include <string>
#include <string_view>

namespace zoo::gateway {

/// The value of a Warning header (RFC 7234, 5.5) for a webhook configuration, or an admission
/// policy or binding, that is stored but cannot act as it says: a tenant's admission sees
/// namespaced objects alone (DESIGN 8), and calls Services alone (docs/decisions/086). "" for other
/// kinds, and where all of it is effective.
/// `body`: the JSON of a create, update or patch, in the tenant's names. Pure.
std::string admission_warning(const translate::Target& target, std::string_view body);

} // namespace zoo::gateway
