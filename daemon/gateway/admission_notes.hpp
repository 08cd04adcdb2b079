// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/target.hpp"

#include <string>
#include <string_view>

namespace zoo::gateway {

/// The value of a Warning header (RFC 7234, 5.5) for a webhook configuration, or an admission
/// policy or binding, whose rules are stored but cannot act as they say: a tenant's admission sees
/// namespaced objects alone (DESIGN 8). "" for other kinds, and where all rules are effective.
/// `body`: the JSON of a create, update or patch, in the tenant's names. Pure.
std::string admission_warning(const translate::Target& target, std::string_view body);

} // namespace zoo::gateway
