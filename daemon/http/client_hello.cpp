// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/client_hello.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace zoo::http {
namespace {

constexpr std::size_t k_record_head = 5;
constexpr std::size_t k_most_record = 16 * 1024; // RFC 8446 5.1: 2^14
constexpr std::uint8_t k_handshake = 22;
constexpr std::uint8_t k_client_hello = 1;
constexpr std::size_t k_most_name = 255;

std::size_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < size; ++i)
    out = out << 8U | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

/// Cuts pieces off the front; what is not there breaks it for good.
class Reader {
public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  std::optional<std::string_view> take(std::size_t size) {
    if (left_.size() < size) return std::nullopt;
    const auto out = left_.substr(0, size);
    left_.remove_prefix(size);
    return out;
  }
  /// A vector with its length in `size` bytes before it.
  std::optional<std::string_view> vector(std::size_t size) {
    const auto length = take(size);
    if (!length) return std::nullopt;
    return take(number(*length, 0, size));
  }
  bool empty() const { return left_.empty(); }

private:
  std::string_view left_;
};

/// In lower case; nothing for what no server has.
std::optional<std::string> host_name(std::string_view name) {
  if (name.empty() || name.size() > k_most_name) return std::nullopt;
  std::string out;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (!upper && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.' &&
        c != '_')
      return std::nullopt;
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

/// The name of a server_name extension; "" if it has none; nothing if it is broken.
std::optional<std::string> name_of(std::string_view extension) {
  Reader reader(extension);
  const auto list = reader.vector(2);
  if (!list || !reader.empty()) return std::nullopt;
  Reader names(*list);
  std::string out;
  while (!names.empty()) {
    const auto type = names.take(1);
    const auto name = type ? names.vector(2) : std::nullopt;
    if (!name) return std::nullopt;
    if ((*type)[0] != 0) continue; // host_name is the only one there is
    auto host = host_name(*name);
    if (!host || !out.empty()) return std::nullopt; // RFC 6066: one of a type
    out = *std::move(host);
  }
  return out;
}

ClientHello hello_of(std::string_view message) {
  const ClientHello other{ClientHello::State::other, {}};
  Reader reader(message);
  // legacy_version, random, legacy_session_id, cipher_suites, legacy_compression_methods
  if (!reader.take(2) || !reader.take(32) || !reader.vector(1) || !reader.vector(2) ||
      !reader.vector(1))
    return other;
  ClientHello out{ClientHello::State::whole, {}};
  if (reader.empty()) return out; // TLS 1.2 without extensions
  const auto all = reader.vector(2);
  if (!all || !reader.empty()) return other;
  Reader extensions(*all);
  bool named = false;
  while (!extensions.empty()) {
    const auto type = extensions.take(2);
    const auto data = type ? extensions.vector(2) : std::nullopt;
    if (!data) return other;
    if (number(*type, 0, 2) != 0) continue;
    auto name = name_of(*data);
    if (!name || named) return other;
    named = true;
    out.server_name = *std::move(name);
  }
  return out;
}

} // namespace

ClientHello read_client_hello(std::string_view bytes) {
  const ClientHello other{ClientHello::State::other, {}}, more{ClientHello::State::need_more, {}};
  const auto wait = [&] { return bytes.size() >= k_most_client_hello ? other : more; };
  std::string message; // of the handshake, out of its records
  std::size_t at = 0;
  for (;;) {
    if (message.size() >= 4) {
      if (static_cast<unsigned char>(message[0]) != k_client_hello) return other;
      const auto length = number(message, 1, 3);
      if (length > k_most_client_hello) return other;
      if (message.size() >= length + 4)
        return hello_of(std::string_view(message).substr(4, length));
    }
    if (at == bytes.size()) return wait();
    // What is wrong is seen in the first byte, not only when the head is whole.
    if (static_cast<unsigned char>(bytes[at]) != k_handshake) return other;
    if (bytes.size() - at > 1 && bytes[at + 1] != 3) return other;
    if (bytes.size() - at < k_record_head) return wait();
    const auto length = number(bytes, at + 3, 2);
    if (length == 0 || length > k_most_record) return other;
    at += k_record_head;
    const auto there = std::min(length, bytes.size() - at);
    message.append(bytes.substr(at, there));
    at += there;
  }
}

} // namespace zoo::http
