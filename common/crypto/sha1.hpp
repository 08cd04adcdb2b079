// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace zoo::crypto {

/// The SHA-1 hash of `bytes`: 20 bytes. Use it for the handshake of RFC 6455 alone, which demands
/// it: SHA-1 is broken, and two texts with one hash can be made on purpose.
std::string sha1(std::string_view bytes);

} // namespace zoo::crypto
