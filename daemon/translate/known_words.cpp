// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/known_words.hpp"

#include <array>
#include <optional>

namespace zoo::translate {
namespace {

constexpr auto npos = std::string_view::npos;

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool joins(char c) { return c == '.' || c == '-' || c == '_'; }

/// Calls `take` with the length of each beginning of the word that `text` begins with, the longest
/// first, until it answers true: `a-b.c`, `a-b`, `a`.
template <class Take>
bool each_beginning(std::string_view text, std::size_t least, Take&& take) {
  for (auto size = word_length(text); size > least; --size) {
    const bool ends = size == text.size() || !alphanumeric(text[size]);
    if (ends && take(size)) return true;
  }
  return false;
}

/// Namespaces that every tenant has.
bool standing(std::string_view name) {
  constexpr std::array<std::string_view, 4> k_names = {"default", "kube-system", "kube-public",
                                                       "kube-node-lease"};
  for (const auto each : k_names) {
    if (each == name) return true;
  }
  return false;
}

/// Does `name` stand in `text` as a word of its own?
bool holds(std::string_view text, std::string_view name) {
  for (auto at = text.find(name); at != npos; at = text.find(name, at + 1)) {
    const auto behind = at + name.size();
    const bool ends = behind == text.size() || (!alphanumeric(text[behind]) && text[behind] != '-');
    if (ends && begins_word(text, at)) return true;
  }
  return false;
}

} // namespace

bool begins_word(std::string_view text, std::size_t at) {
  return at == 0 || (!alphanumeric(text[at - 1]) && text[at - 1] != '-');
}

std::size_t word_length(std::string_view text) {
  text = text.substr(0, k_longest_word);
  std::size_t size = 0;
  while (size < text.size() && (alphanumeric(text[size]) || joins(text[size]) ||
                                (static_cast<unsigned char>(text[size]) & 0x80U) != 0))
    ++size;
  while (size > 0 && joins(text[size - 1]))
    --size;
  return size;
}

void KnownWords::take(std::string_view text, std::uint32_t Count::* where) {
  for (auto at = text.find(prefix_); at != npos && !full(); at = text.find(prefix_, at + 1)) {
    if (begins_word(text, at)) count(text.substr(at, word_length(text.substr(at))), where);
  }
}

void KnownWords::count(std::string_view word, std::uint32_t Count::* where) {
  if (word.size() <= prefix_.size() || full()) return;
  ++looked_at_;
  auto found = words_.find(word);
  if (found == words_.end()) {
    if (words_.size() >= k_most) return;
    found = words_.emplace(word, Count{}).first;
  }
  ++(found->second.*where);
}

void KnownWords::add(std::string_view word, bool shown) {
  count(word, shown ? &Count::shown : &Count::upstream);
}

void KnownWords::asked(std::string_view text) {
  shown(text);
  asked_.push_back(text);
}

bool KnownWords::own(std::string_view text) const {
  return each_beginning(text, prefix_.size(), [&](std::size_t size) {
    const auto found = words_.find(text.substr(0, size));
    return found != words_.end() && found->second.shown > 0;
  });
}

bool KnownWords::prefixed(std::string_view text) {
  std::optional<bool> is_own; // asked once: it walks all beginnings, too
  return each_beginning(text, prefix_.size(), [&](std::size_t size) {
    if (size < text.size() && text[size] == '-') return false; // a part of a longer name
    const auto found = words_.find(text.substr(0, size));
    if (found != words_.end() && found->second.upstream > found->second.shown) return true;
    const auto name = text.substr(prefix_.size(), size - prefix_.size());
    if (standing(name)) return true;
    // A request that holds the word itself says more than one that holds a part of it.
    if (asked_.empty() || searches_ >= k_most_searches) return false;
    if (!is_own) is_own = own(text);
    if (*is_own) return false;
    ++searches_;
    for (const auto each : asked_) {
      if (holds(each, name)) return true;
    }
    return false;
  });
}

} // namespace zoo::translate
