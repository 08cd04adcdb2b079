// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

/// A CEL expression as a list of tokens, and the member selections in it. Nothing is evaluated or
/// type-checked: upstream's compiler does that. Pure: any thread.
namespace zoo::translate {

struct CelToken {
  enum class Kind : unsigned char {
    literal, ///< a string, with its quotes and what stands in front of them (r, b)
    word,    ///< an identifier, a keyword or a number
    sign,    ///< one character of everything else
  };
  Kind kind;
  std::size_t begin, end;
  /// Of a bracket: the index of the one that belongs to it; npos if there is none.
  std::size_t partner;
};

/// One selection of a member: `operand.field`, `operand['field']`, or with a question mark.
struct CelSelect {
  std::size_t first; ///< token with which the operand begins
  std::size_t step;  ///< the token `.` or `[` behind the operand
  std::size_t last;  ///< the field's token, or the closing bracket
  std::string_view field;
  bool optional;     ///< the result is an optional: a question mark stands here or in the operand
  bool by_index;     ///< written with brackets
  bool under_has;    ///< the argument of has(), which must stay a plain selection
  std::size_t steps; ///< of the operand: members, indexes and calls
};

class CelTokens {
public:
  static constexpr auto npos = static_cast<std::size_t>(-1);

  /// Keeps views into `expression`, which must live as long.
  explicit CelTokens(std::string_view expression);

  std::size_t size() const { return tokens_.size(); }
  const CelToken& operator[](std::size_t index) const { return tokens_[index]; }
  /// What token `index` says; "" where there is none.
  std::string_view text(std::size_t index) const;
  bool is_sign(std::size_t index, char c) const;

  /// Is this word a variable, and not a field that is selected?
  bool is_variable(std::size_t index) const;
  /// Does token `index` stand directly within `has(`?
  bool under_has(std::size_t index) const;
  /// The content of a plain string literal; nullopt for one with escapes, triple quotes or a
  /// prefix, and for what is no literal.
  std::optional<std::string_view> plain_literal(std::size_t index) const;

  /// Every selection in the order in which they end; calls of methods are none. Those whose operand
  /// has more than k_most_steps are left out.
  std::vector<CelSelect> selects() const;

  static constexpr std::size_t k_most_steps = 512;
  /// Of a longer expression there are no tokens: upstream refuses it.
  static constexpr std::ptrdiff_t k_most_code_points = 100'000;

private:
  bool ends_operand(std::size_t index) const;
  /// The selection whose step is token `step`, without its operand; nullopt if that is no step.
  std::optional<CelSelect> select_at(std::size_t step) const;
  /// False: what stands in front of the step is no operand, or has too many steps.
  bool find_operand(CelSelect& select) const;

  std::string_view text_;
  std::vector<CelToken> tokens_;
};

} // namespace zoo::translate
