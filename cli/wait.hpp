// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <string_view>

/// Waiting for zood's controllers: by a watch, never by polling. On a terminal one line of standard
/// error shows what is waited for; elsewhere it is said only when the time is over.
namespace zoo::cli {

/// Until the Tenant is Ready (or Suspended, if that is what it asks for); returns it. Code::timeout
/// with what zood waits for, Code::internal if it Failed, Code::conflict if somebody deletes it.
Result<nlohmann::json> wait_until_ready(Context& context, const std::string& id,
                                        std::chrono::milliseconds timeout);

/// Until the Tenant of that UID is gone, or another one stands under its ID. Code::timeout.
Result<void> wait_until_gone(Context& context, const std::string& id, const std::string& uid,
                             std::chrono::milliseconds timeout);

} // namespace zoo::cli
