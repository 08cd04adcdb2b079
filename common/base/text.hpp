// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::text {

/// Damerau-Levenshtein distance (adjacent swaps count one).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, if it is near enough to be what was meant.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

std::vector<std::string_view> split(std::string_view input, char separator);
std::string_view trim(std::string_view input);
std::string lower(std::string_view input); ///< ASCII letters only

/// Is `word` one of a list of texts? One after the other is looked at.
template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// A control character other than a tab (RFC 9110 section 5.5): never part of a field's value.
bool has_control(std::string_view input);

bool iequals_same_size(std::string_view a, std::string_view b);
/// ASCII letters only. Nearly all that is compared differs in length already.
inline bool iequals(std::string_view a, std::string_view b) {
  return a.size() == b.size() && iequals_same_size(a, b);
}

} // namespace zoo::text
