// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string_view>

namespace zoo::upstream {

class ControlApi;

/// ControlApi::remove_read() where the name is wanted: finalizers that somebody has given the
/// object do not hold it. They are taken from it behind the deletion, when upstream lets nobody add
/// any. An object that has taken the name meanwhile stays. Blocks.
Result<void> remove_outright(ControlApi& api, std::string_view path, std::string_view uid);

} // namespace zoo::upstream
