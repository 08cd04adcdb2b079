// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/api_types.hpp"

#include <chrono>
#include <string>
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

} // namespace zoo::admin
