// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/accounts/account.hpp"

#include <cstdint>
#include <string_view>

namespace zoo::upstream {
class ControlApi;
}

namespace zoo::accounts {

/// Tells of an Account by an Event (Warning), which `kubectl describe` of it shows; of an object of
/// the whole cluster they are kept in namespace `default`. It is news, not state: a failure is
/// logged, and nothing waits for it. Blocks.
void tell_event(upstream::ControlApi& api, const Account& account, std::string_view reason,
                std::string_view message, std::int64_t now);

} // namespace zoo::accounts
