// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/api_types.hpp"
#include "daemon/audit/entry.hpp"
#include "daemon/resources/door.hpp"

#include <string_view>

namespace zoo::audit {
class Log;
}

namespace zoo::admin {

/// GET /zoo/v1/audit?tenant=&user=&verb=&decision=&denied=&since=&until=&limit=: {items: [lines],
/// more, torn}. Times are RFC 3339; `since` is an hour ago if it is left out, `limit` 1000 (10000
/// at most). The newest lines, oldest first; `more`: there are older ones; `torn`: so many lines
/// are left out, which were cut off. Blocking.
Answer audit_answer(const Request& request, const audit::Log* log);

/// What the audit log says of a request to an API of zood's own, by whatever door: views into
/// `finished`.
audit::Entry entry_of(const resources::Finished& finished, std::string_view door);

} // namespace zoo::admin
