// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/mapping.hpp"
#include "daemon/translate/target.hpp"

#include <string>
#include <string_view>

namespace zoo::gateway {

/// May a write of such objects be stored and not act as it says?
bool has_notes(const translate::Target& target);

/// The value of a Warning header (RFC 7234, 5.5) for what is stored but cannot act as it says:
/// rules of webhooks and admission policies for what is not the tenant's (DESIGN 8,
/// docs/decisions/086), a level of pod security, defaults for a whole cluster, classes for which
/// nobody acts (124; which of it is denied instead: 133), webhooks that are sent groups with the
/// tenant's prefix (162). "" for other kinds, and where all of it
/// is effective. `body`: the JSON of a create, update or patch, in the tenant's names. `relayed`:
/// the tenant's webhooks are called through the relay, and sent its own groups. Pure.
std::string note_of(const translate::Target& target, const translate::Mapping& mapping,
                    std::string_view body, bool relayed);

} // namespace zoo::gateway
