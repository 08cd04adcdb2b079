// SPDX-License-Identifier: Apache-2.0
#include "common/crypto/digest.hpp"

#include "common/crypto/openssl.hpp"
#include "common/crypto/sha1.hpp"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <climits>
#include <stdexcept>

namespace zoo::crypto {
namespace {

constexpr std::string_view k_standard =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view k_url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using Reverse = std::array<std::int8_t, 256>;

constexpr Reverse reverse_of(std::string_view alphabet) {
  Reverse out{};
  out.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    out[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::int8_t>(i);
  return out;
}

constexpr Reverse k_from_standard = reverse_of(k_standard);
constexpr Reverse k_from_url = reverse_of(k_url);

std::string encode(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t present = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < present ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k <= present; ++k)
      out += alphabet[group >> (18 - 6 * k) & 63];
    if (pad) out.append(3 - present, '=');
  }
  return out;
}

Result<std::string> decode(std::string_view text, const Reverse& table, bool pad) {
  if (pad) {
    if (text.size() % 4 != 0) {
      return fail(Code::invalid, "not base64: {} characters are no multiple of four", text.size());
    }
    for (int k = 0; k < 2 && text.ends_with('='); ++k)
      text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return fail(Code::invalid, "not base64: it ends inside a byte");
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  int bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto value = table[static_cast<std::uint8_t>(text[i])];
    if (value < 0) return fail(Code::invalid, "not base64: unexpected character at {}", i);
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(group >> bits & 0xff);
      group &= (1u << bits) - 1;
    }
  }
  if (group != 0) return fail(Code::invalid, "not base64: stray bits at the end");
  return out;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

} // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 out{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data());
  return out;
}

std::string sha1(std::string_view bytes) {
  std::string out(SHA_DIGEST_LENGTH, '\0');
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
       reinterpret_cast<unsigned char*>(out.data()));
  return out;
}

Sha256 hmac_sha256(std::string_view key, std::string_view bytes) {
  Sha256 out;
  unsigned size = 0;
  const auto* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(), &size);
  if (made == nullptr || size != out.size()) throw std::runtime_error("HMAC-SHA256 fails");
  return out;
}

std::string hex_encode(std::string_view bytes) {
  static constexpr char k_hex[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    out += k_hex[byte >> 4];
    out += k_hex[byte & 15];
  }
  return out;
}

std::string short_digest(std::string_view text, std::size_t digits) {
  return hex_encode(view(sha256(text))).substr(0, digits);
}

Result<std::string> hex_decode(std::string_view text) {
  if (text.size() % 2 != 0) return fail(Code::invalid, "not hexadecimal: an odd number of digits");
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]), low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) {
      return fail(Code::invalid, "not hexadecimal: unexpected character at {}",
                  high < 0 ? i : i + 1);
    }
    out += static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string base64_encode(std::string_view bytes) { return encode(bytes, k_standard, true); }
Result<std::string> base64_decode(std::string_view text) {
  return decode(text, k_from_standard, true);
}
std::string base64url_encode(std::string_view bytes) { return encode(bytes, k_url, false); }
Result<std::string> base64url_decode(std::string_view text) {
  return decode(text, k_from_url, false);
}

Result<std::string> random_bytes(std::size_t count) {
  if (count > INT_MAX) return fail(Code::internal, "{} random bytes are too many", count);
  std::string out(count, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) != 1) {
    return fail(openssl_error(Code::internal, "get random bytes"));
  }
  return out;
}

namespace {

/// RFC 9562 4.1 and 4.2: `bytes` (16) as a UUID of that version.
std::string uuid_text(std::string bytes, std::uint8_t version) {
  bytes[6] = static_cast<char>((static_cast<std::uint8_t>(bytes[6]) & 0x0f) | (version << 4));
  bytes[8] = static_cast<char>((static_cast<std::uint8_t>(bytes[8]) & 0x3f) | 0x80);
  auto text = hex_encode(bytes);
  for (const std::size_t at : {8, 13, 18, 23})
    text.insert(at, 1, '-');
  return text;
}

} // namespace

std::string uuid_v4() {
  auto bytes = random_bytes(16);
  if (!bytes) throw std::runtime_error(bytes.error().text());
  return uuid_text(*std::move(bytes), 4);
}

std::string uuid_v8(std::string_view seed) {
  const auto digest = sha256(seed);
  return uuid_text(std::string(view(digest).substr(0, 16)), 8);
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace zoo::crypto
