// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"
#include "daemon/tenants/directory.hpp"

#include <memory>

namespace zoo::tenants {

/// A Tenant's record as the directory needs it, read by one pass over its bytes: at the start there
/// may be a hundred thousand. Null where the record says anything out of the common (terms of its
/// own, an audit level, revoked credentials, escapes, or what zood did not write): then
/// entry_of(*tenant_of(record)) knows, and says what is wrong. Any thread.
std::shared_ptr<const TenantEntry> scan_entry(const store::Record& record);

} // namespace zoo::tenants
