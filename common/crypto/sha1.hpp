// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zoo::crypto {

/// 20 bytes. For the handshake of RFC 6455 alone, which asks for it: whoever wants to can make two
/// texts that have the same.
std::string sha1(std::string_view bytes);

} // namespace zoo::crypto
