// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <system_error>

namespace zoo::keeper {

/// What the system calls an errno. Any thread.
inline std::string reason(int error) { return std::generic_category().message(error); }

} // namespace zoo::keeper
