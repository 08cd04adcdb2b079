// SPDX-License-Identifier: Apache-2.0
#include "common/base/text.hpp"

#include "common/base/byte_block.hpp"

#include <algorithm>

namespace zoo::text {
namespace {

char lower_of(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(now);
  }
  return last[b.size()];
}

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto candidate : candidates) {
    const auto distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::vector<std::string_view> split(std::string_view input, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const auto at = input.find(separator);
    out.push_back(input.substr(0, at));
    if (at == std::string_view::npos) return out;
    input.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view input) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!input.empty() && blank(input.front()))
    input.remove_prefix(1);
  while (!input.empty() && blank(input.back()))
    input.remove_suffix(1);
  return input;
}

bool has_control(std::string_view input) {
  using namespace byte_block;
  const bool suspect =
      any(input, [](std::uint64_t block) { return has_below(block, 0x20) || has(block, '\x7f'); });
  return suspect && std::any_of(input.begin(), input.end(), [](char c) { // a tab is none
           return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
         });
}

bool iequals_same_size(std::string_view a, std::string_view b) {
  using byte_block::k_size;
  std::size_t i = 0;
  while (a.size() - i >= k_size && byte_block::load(a.data() + i) == byte_block::load(b.data() + i))
    i += k_size;
  for (; i < a.size(); ++i) {
    if (a[i] != b[i] && lower_of(a[i]) != lower_of(b[i])) return false;
  }
  return true;
}

std::string lower(std::string_view input) {
  std::string out(input);
  std::transform(out.begin(), out.end(), out.begin(), lower_of);
  return out;
}

} // namespace zoo::text
