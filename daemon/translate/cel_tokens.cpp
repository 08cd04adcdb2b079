// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/cel_tokens.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace zoo::translate {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Offset behind the string literal whose quote stands at `at`; the end if it is not closed.
std::size_t skip_string(std::string_view text, std::size_t at, bool raw) {
  const auto quote = text.substr(at, 1);
  const auto triple = std::string(3, quote[0]);
  const bool is_triple = text.substr(at, 3) == triple;
  const std::string_view closing = is_triple ? std::string_view(triple) : quote;
  at += closing.size();
  while (at < text.size()) {
    if (!raw && text[at] == '\\') {
      at += 2;
    } else if (text.substr(at, closing.size()) == closing) {
      return at + closing.size();
    } else {
      ++at;
    }
  }
  return text.size();
}

std::size_t skip_word(std::string_view text, std::size_t at) {
  while (at < text.size() && is_word(text[at]))
    ++at;
  return at;
}

/// Functions and methods whose result is an optional.
bool answers_optional(std::string_view name) {
  constexpr std::array<std::string_view, 6> k_names = {"optMap", "optFlatMap",     "or",
                                                       "of",     "ofNonZeroValue", "none"};
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end();
}

} // namespace

CelTokens::CelTokens(std::string_view expression) : text_(expression) {
  // Upstream refuses such an expression (cel-go parser, expressionSizeCodePointLimit).
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; };
  if (std::count_if(text_.begin(), text_.end(), begins) > k_most_code_points) return;
  std::vector<std::size_t> open;
  const auto add = [&](CelToken::Kind kind, std::size_t begin, std::size_t end) {
    tokens_.push_back({kind, begin, std::min(end, text_.size()), npos});
  };
  for (std::size_t at = 0; at < text_.size();) {
    const char c = text_[at];
    if (is_space(c)) {
      ++at;
    } else if (c == '\'' || c == '"') {
      const auto end = skip_string(text_, at, false);
      add(CelToken::Kind::literal, at, end);
      at = end;
    } else if (c == '/' && text_.substr(at, 2) == "//") {
      at = std::min(text_.find('\n', at), text_.size());
    } else if (is_word(c)) {
      auto end = skip_word(text_, at);
      const bool quoted = end < text_.size() && (text_[end] == '\'' || text_[end] == '"');
      if (quoted) { // r'...', b"...", rb'...'
        const bool raw = text_.substr(at, end - at).find_first_of("rR") != npos;
        end = skip_string(text_, end, raw);
      }
      add(quoted ? CelToken::Kind::literal : CelToken::Kind::word, at, end);
      at = end;
    } else {
      add(CelToken::Kind::sign, at, at + 1);
      const auto index = tokens_.size() - 1;
      if (c == '(' || c == '[' || c == '{') {
        open.push_back(index);
      } else if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
        const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (text_[tokens_[open.back()].begin] == wanted) {
          tokens_[index].partner = open.back();
          tokens_[open.back()].partner = index;
        }
        open.pop_back();
      }
      ++at;
    }
  }
}

std::string_view CelTokens::text(std::size_t index) const {
  if (index >= tokens_.size()) return {};
  return text_.substr(tokens_[index].begin, tokens_[index].end - tokens_[index].begin);
}

bool CelTokens::is_sign(std::size_t index, char c) const {
  return index < tokens_.size() && tokens_[index].kind == CelToken::Kind::sign &&
         text_[tokens_[index].begin] == c;
}

bool CelTokens::ends_operand(std::size_t index) const {
  if (index >= tokens_.size()) return false;
  switch (tokens_[index].kind) {
  case CelToken::Kind::literal:
    return true;
  case CelToken::Kind::word:
    return text(index) != "in";
  case CelToken::Kind::sign:
    break;
  }
  return is_sign(index, ')') || is_sign(index, ']') || is_sign(index, '}');
}

bool CelTokens::is_variable(std::size_t index) const {
  if (index == 0) return true;
  auto dot = index - 1;
  if (is_sign(dot, '?') && dot > 0) --dot; // x.?f
  return !is_sign(dot, '.') || dot == 0 || !ends_operand(dot - 1);
}

bool CelTokens::under_has(std::size_t index) const {
  return index >= 2 && is_sign(index - 1, '(') && text(index - 2) == "has" &&
         is_variable(index - 2);
}

std::optional<std::string_view> CelTokens::plain_literal(std::size_t index) const {
  if (index >= tokens_.size() || tokens_[index].kind != CelToken::Kind::literal)
    return std::nullopt;
  const auto whole = text(index);
  if (whole.size() < 2 || (whole[0] != '\'' && whole[0] != '"') || whole.back() != whole[0])
    return std::nullopt;
  const auto inner = whole.substr(1, whole.size() - 2);
  if (inner.find_first_of("\\'\"") != std::string_view::npos) return std::nullopt;
  return inner;
}

bool CelTokens::find_operand(CelSelect& select) const {
  // Whether the operand is an optional is said by what stands behind the last call in it.
  bool settled = false;
  auto at = select.step - 1;
  for (;; ++select.steps) {
    if (select.steps > k_most_steps) return false;
    select.first = at;
    if (tokens_[at].kind == CelToken::Kind::literal) return true;
    if (tokens_[at].kind == CelToken::Kind::word) {
      if (at == 0) return true;
      auto dot = at - 1;
      const bool asks = is_sign(dot, '?') && dot > 0 && is_sign(dot - 1, '.');
      if (asks) --dot;
      if (!is_sign(dot, '.')) return true;
      select.first = dot;
      if (dot == 0 || !ends_operand(dot - 1)) return true; // .name: of the root scope
      if (asks && !settled) select.optional = true;
      at = dot - 1;
      continue;
    }
    const auto opening = tokens_[at].partner;
    if (opening == npos) return false;
    select.first = opening;
    const bool named = opening > 0 && tokens_[opening - 1].kind == CelToken::Kind::word &&
                       text(opening - 1) != "in";
    if (is_sign(at, ']')) {
      if (opening == 0 || !ends_operand(opening - 1)) return true; // a list
      if (is_sign(opening + 1, '?') && !settled) select.optional = true;
      at = opening - 1;
    } else if (named) { // f(...), x.f(...), Type{...}
      if (!settled && is_sign(at, ')') && answers_optional(text(opening - 1)))
        select.optional = true;
      settled = true;
      at = opening - 1;
    } else {
      return true;
    }
  }
}

std::optional<CelSelect> CelTokens::select_at(std::size_t step) const {
  const bool by_index = is_sign(step, '[');
  if (step == 0 || (!by_index && !is_sign(step, '.')) || !ends_operand(step - 1))
    return std::nullopt;
  CelSelect out{0, step, step + 1, {}, is_sign(step + 1, '?'), by_index, false, 0};
  if (out.optional) ++out.last;
  if (out.last >= tokens_.size()) return std::nullopt;
  if (by_index) {
    const auto field = plain_literal(out.last);
    if (!field || !is_sign(out.last + 1, ']')) return std::nullopt;
    out.field = *field;
    ++out.last;
  } else {
    out.field = text(out.last);
    if (tokens_[out.last].kind != CelToken::Kind::word || is_digit(out.field[0]) ||
        is_sign(out.last + 1, '('))
      return std::nullopt;
  }
  return out;
}

std::vector<CelSelect> CelTokens::selects() const {
  std::vector<CelSelect> out;
  std::optional<CelSelect> before; // the last selection, and whether its operand is known
  bool known = false;
  for (std::size_t i = 1; i < tokens_.size(); ++i) {
    auto select = select_at(i);
    if (!select) continue;
    if (before && before->last + 1 == select->step) { // its operand is the whole one in front
      select->first = before->first;
      select->steps = before->steps + 1;
      select->optional = select->optional || before->optional;
      known = known && select->steps <= k_most_steps;
    } else {
      known = find_operand(*select);
    }
    before = select;
    if (!known) continue;
    select->under_has = under_has(select->first);
    out.push_back(*select);
  }
  return out;
}

} // namespace zoo::translate
