// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zoo::crypto {

/// Keys out of a passphrase (RFC 7914): N = 2^`log_n`, r = 8, p = 1, which takes 2^(log_n - 10) MiB
/// of memory, and as much time as to make guessing dear. Code::invalid where log_n is not 10 to 20,
/// Code::internal where there is no memory. Blocks for half a second at 17.
Result<Secret> scrypt(std::string_view passphrase, std::string_view salt, unsigned log_n,
                      std::size_t length);

} // namespace zoo::crypto
