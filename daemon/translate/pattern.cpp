// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/pattern.hpp"

#include <vector>

namespace zoo::translate {
namespace {

/// In front of an alternative that may match anywhere, behind the prefix.
constexpr std::string_view k_anywhere = "(?s:.*)(?:";

/// Offset behind the character class that begins at `at`; npos if it is not closed.
std::size_t skip_class(std::string_view text, std::size_t at) {
  ++at;
  if (at < text.size() && text[at] == '^') ++at;
  if (at < text.size() && text[at] == ']') ++at; // the first one is a character
  while (at < text.size() && text[at] != ']') {
    if (text[at] == '\\') {
      at += 2;
    } else if (text.substr(at, 2) == "[:") {
      const auto end = text.find(":]", at + 2);
      if (end == std::string_view::npos) return end;
      at = end + 2;
    } else {
      ++at;
    }
  }
  return at < text.size() ? at + 1 : std::string_view::npos;
}

/// The alternatives of an expression. nullopt: it holds what is not taken; `ours` takes the group
/// with a flag that pattern_in() adds.
std::optional<std::vector<std::string_view>> alternatives(std::string_view text, bool ours) {
  std::vector<std::string_view> out;
  std::size_t begin = 0, depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\\') {
      if (at + 1 >= text.size() ||
          std::string_view("AbBQ").find(text[at + 1]) != std::string_view::npos)
        return std::nullopt;
      at += 2;
    } else if (c == '[') {
      at = skip_class(text, at);
      if (at == std::string_view::npos) return std::nullopt;
    } else if (c == '(') {
      const auto rest = text.substr(at + 1);
      const bool named = rest.starts_with("?P<") || rest.starts_with("?<");
      const bool added = ours && text.substr(at).starts_with("(?s:.*)");
      if (rest.starts_with('?') && !rest.starts_with("?:") && !named && !added) return std::nullopt;
      ++depth;
      at += rest.starts_with('?') ? 2 : 1;
    } else if (c == ')') {
      if (depth == 0) return std::nullopt;
      --depth;
      ++at;
    } else if (c == '|' && depth == 0) {
      out.push_back(text.substr(begin, at - begin));
      begin = ++at;
    } else if (c == '^') {
      const auto next = text.substr(at + 1, 1);
      if (at != begin || next.find_first_of("*+?{") != std::string_view::npos) return std::nullopt;
      ++at;
    } else {
      ++at;
    }
  }
  if (depth != 0) return std::nullopt;
  out.push_back(text.substr(begin));
  return out;
}

/// Offset of `part`, which is a piece of `text`.
std::size_t offset(std::string_view text, std::string_view part) {
  return static_cast<std::size_t>(part.data() - text.data());
}

} // namespace

std::optional<std::string> pattern_in(std::string_view prefix, std::string_view pattern) {
  const auto parts = alternatives(pattern, false);
  if (!parts) return std::nullopt;
  std::string out;
  for (const auto part : *parts) {
    if (offset(pattern, part) != 0) out += '|';
    out += '^';
    out += prefix;
    if (part.starts_with('^')) {
      out += part.substr(1);
    } else {
      out += k_anywhere;
      out += part;
      out += ')';
    }
  }
  return out;
}

std::string pattern_out(std::string_view prefix, std::string_view pattern) {
  const auto parts = alternatives(pattern, true);
  if (!parts) return std::string(pattern);
  std::string out;
  const auto start = "^" + std::string(prefix);
  for (auto part : *parts) {
    if (!part.starts_with(start)) return std::string(pattern);
    if (offset(pattern, part) != 0) out += '|';
    part.remove_prefix(start.size());
    if (part.starts_with(k_anywhere) && part.ends_with(')')) {
      part.remove_prefix(k_anywhere.size());
      part.remove_suffix(1);
      out += part;
    } else {
      out += '^';
      out += part;
    }
  }
  return out;
}

} // namespace zoo::translate
