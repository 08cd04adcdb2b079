// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace zoo::app {

/// Lets this process have as many open files as it may (RLIMIT_NOFILE, from the soft limit to the
/// hard one), and warns where these are fewer than `wanted`: zood's own limits of connections say
/// what becomes of the next one, and shall be met before the kernel's. Before the first thread.
void raise_open_files(std::size_t wanted);

} // namespace zoo::app
