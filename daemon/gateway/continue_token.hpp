// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/translate/continue.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace zoo::gateway {

class Exchange;

/// A `continue` token for the client of `exchange`: sealed over tenant, UID, path, selectors and
/// position (DESIGN 6), so that nobody reads, forges or carries it elsewhere.
std::string seal_continue(const Exchange& exchange, std::int64_t revision, std::string_view start);

/// What `start` begins with where it is a name in the tenant's order, and no key of upstream's: of
/// a merged list. No key begins so.
inline constexpr char k_by_name = '\1';

/// Code::bad_request for a token that is not of this tenant, path and selectors.
Result<translate::UpstreamPosition> open_continue(const Exchange& exchange, std::string_view token);

/// The same around a token of upstream's own, for lists that go straight through; and back.
std::string seal_upstream_token(const Exchange& exchange, std::string_view upstream_token);
Result<std::string> open_upstream_token(const Exchange& exchange, std::string_view token);

/// The 410 of a page that came too late, with a token to go on as of now.
std::string expired_with_token(std::string_view token);

} // namespace zoo::gateway
