// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/syntax.hpp"

#include "common/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace zoo::http {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c)
    table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c)
    table[c] = table[c - 'a' + 'A'] = true;
  for (char c : std::string_view("!#$%&'*+-.^_`|~"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto k_token = make_token_table();

bool all_of(std::string_view text, auto predicate) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return predicate(static_cast<unsigned char>(c)); });
}

} // namespace

bool is_token(std::string_view text) {
  return !text.empty() && all_of(text, [](unsigned char c) { return k_token[c]; });
}

bool is_field_value(std::string_view text) {
  // Eight bytes at a time, since the bearer token of each request to the upstream has a thousand: a
  // block in which one may be below a space or DEL is looked at byte by byte.
  constexpr std::uint64_t k_ones = 0x0101010101010101, k_high = 0x80 * k_ones;
  const auto fits = [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); };
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t block = 0;
    std::memcpy(&block, text.data(), sizeof(block));
    const auto del = block ^ (0x7f * k_ones);
    const auto suspect = ((block - 0x20 * k_ones) & ~block) | ((del - k_ones) & ~del);
    if ((suspect & k_high) != 0 && !all_of(text.substr(0, sizeof(block)), fits)) return false;
  }
  return all_of(text, fits);
}

bool is_origin_form(std::string_view target) {
  return target.starts_with('/') &&
         all_of(target, [](unsigned char c) { return c > 0x20 && c < 0x7f && c != '#'; });
}

bool is_authority(std::string_view authority) {
  if (authority.empty() || authority.size() > 300) return false;
  return all_of(authority, [](unsigned char c) {
    return (k_token[c] && c != '#' && c != '^' && c != '`' && c != '|') || c == ':' || c == '[' ||
           c == ']' || c == ',' || c == ';' || c == '=' || c == '(' || c == ')';
  });
}

bool is_hop_by_hop(std::string_view name) {
  constexpr std::array<std::string_view, 8> k_names = {
      "connection", "transfer-encoding", "keep-alive",    "proxy-connection", "upgrade",
      "te",         "trailer",           "http2-settings"};
  return std::any_of(k_names.begin(), k_names.end(),
                     [&](std::string_view each) { return text::iequals(each, name); });
}

bool list_has(const Headers& headers, std::string_view name, std::string_view token) {
  for (const auto value : headers.all(name)) {
    for (const auto part : text::split(value, ',')) {
      if (text::iequals(text::trim(part), token)) return true;
    }
  }
  return false;
}

} // namespace zoo::http
