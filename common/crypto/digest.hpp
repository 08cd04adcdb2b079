// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Digests, random bytes and the encodings of RFC 4648. Decoders are strict: one text for each
/// value (no white space, no missing or extra padding, no stray bits), else Code::invalid.
namespace zoo::crypto {

using Sha256 = std::array<std::uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
inline std::string_view view(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// RFC 2104 over SHA-256.
Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

std::string hex_encode(std::string_view bytes); ///< lower case
Result<std::string> hex_decode(std::string_view text);
/// The first hex digits of a text's SHA-256: a suffix by which names are told apart that are
/// made of longer texts. Not for secrets, nor where somebody gains by two texts of one suffix.
std::string short_digest(std::string_view text, std::size_t digits = 8);

std::string base64_encode(std::string_view bytes); ///< RFC 4648 4, padded
Result<std::string> base64_decode(std::string_view text);

std::string base64url_encode(std::string_view bytes); ///< RFC 4648 5, no padding
Result<std::string> base64url_decode(std::string_view text);

/// From OpenSSL's generator. Code::internal if it has no entropy.
Result<std::string> random_bytes(std::size_t count);

/// RFC 9562 4, lower case. Throws std::runtime_error if there is no entropy (nothing is safe then).
std::string uuid_v4();

/// RFC 9562 5.8, lower case: made of the digest of `seed`, always the same one for the same.
std::string uuid_v8(std::string_view seed);

/// Compares in a time that depends on the lengths only.
bool equal_constant_time(std::string_view a, std::string_view b);

} // namespace zoo::crypto
