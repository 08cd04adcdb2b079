// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/syntax.hpp"

#include "common/base/byte_block.hpp"
#include "common/base/text.hpp"

#include <array>

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

constexpr std::array<bool, 256> make_authority_table() {
  auto table = k_token;
  for (char c : std::string_view("#^`|"))
    table[static_cast<unsigned char>(c)] = false;
  for (char c : std::string_view(":[],;=()"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto k_authority = make_authority_table();

/// Looks at all of the text, which is short and nearly always right: no branch for a byte.
bool all_of(std::string_view text, auto predicate) {
  bool all = true;
  for (const char c : text)
    all &= predicate(static_cast<unsigned char>(c));
  return all;
}

} // namespace

bool is_token(std::string_view text) {
  return !text.empty() && all_of(text, [](unsigned char c) { return k_token[c]; });
}

bool is_field_value(std::string_view text) { return !text::has_control(text); }

bool is_origin_form(std::string_view target) {
  using namespace byte_block;
  return target.starts_with('/') && !any(target, [](std::uint64_t block) {
           return has_below(block, 0x21) || beyond_ascii(block) || has(block, '\x7f') ||
                  has(block, '#');
         });
}

bool is_authority(std::string_view authority) {
  if (authority.empty() || authority.size() > 300) return false;
  return all_of(authority, [](unsigned char c) { return k_authority[c]; });
}

bool is_hop_by_hop(std::string_view name) {
  const auto is = [name](std::string_view each) { return text::iequals(each, name); };
  switch (name.size()) { // each is asked of every field of every message
  case 2:
    return is("te");
  case 7:
    return is("upgrade") || is("trailer");
  case 10:
    return is("connection") || is("keep-alive");
  case 14:
    return is("http2-settings");
  case 16:
    return is("proxy-connection");
  case 17:
    return is("transfer-encoding");
  default:
    return false;
  }
}

bool list_has(const Headers& headers, std::string_view name, std::string_view token) {
  for (const auto& field : headers) {
    if (!text::iequals(field.name, name)) continue;
    for (const auto part : text::split(field.value, ',')) {
      if (text::iequals(text::trim(part), token)) return true;
    }
  }
  return false;
}

} // namespace zoo::http
