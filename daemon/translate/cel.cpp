// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/cel.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace zoo::translate {
namespace {

constexpr auto npos = std::string_view::npos;

constexpr std::array<std::string_view, 3> k_object = {"object", "metadata", "namespace"};
constexpr std::array<std::string_view, 3> k_old = {"oldObject", "metadata", "namespace"};
constexpr std::array<std::string_view, 3> k_params = {"params", "metadata", "namespace"};
constexpr std::array<std::string_view, 3> k_namespace = {"namespaceObject", "metadata", "name"};
constexpr std::array<std::string_view, 2> k_request = {"request", "namespace"};
using Chain = std::span<const std::string_view>;
constexpr std::array<Chain, 5> k_chains = {Chain(k_object), Chain(k_old), Chain(k_params),
                                           Chain(k_namespace), Chain(k_request)};

bool word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && space(text[at]))
    ++at;
  return at;
}

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
  while (at < text.size() && word(text[at]))
    ++at;
  return at;
}

/// Offset behind the chain of fields that begins at `at`; npos if it is another one, or a call.
std::size_t match(std::string_view text, std::size_t at, Chain chain) {
  auto end = at;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i != 0) {
      at = skip_space(text, at);
      if (at >= text.size() || text[at] != '.') return npos;
      at = skip_space(text, at + 1);
    }
    end = skip_word(text, at);
    if (text.substr(at, end - at) != chain[i]) return npos;
    at = end;
  }
  const auto behind = skip_space(text, end);
  return behind < text.size() && text[behind] == '(' ? npos : end;
}

/// Does `has(` stand directly before `at`? Its argument must stay a plain field.
bool under_has(std::string_view text, std::size_t at) {
  const auto back = [&] {
    while (at > 0 && space(text[at - 1]))
      --at;
  };
  back();
  if (at == 0 || text[at - 1] != '(') return false;
  --at;
  back();
  if (at < 3 || text.substr(at - 3, 3) != "has") return false;
  return at == 3 || !(word(text[at - 4]) || text[at - 4] == '.');
}

/// Calls what an expression consists of, outside comments and white space: `literal()` for a
/// string, `name(begin, end)` for an identifier, a number or a keyword, which answers where to go
/// on, and `sign(c)` for everything else.
template <typename Literal, typename Name, typename Sign>
void each_token(std::string_view text, Literal literal, Name name, Sign sign) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '\'' || c == '"') {
      at = skip_string(text, at, false);
      literal();
    } else if (c == '/' && text.substr(at, 2) == "//") {
      const auto end = text.find('\n', at);
      at = end == npos ? text.size() : end;
    } else if (word(c)) {
      const auto end = skip_word(text, at);
      const bool quoted = end < text.size() && (text[end] == '\'' || text[end] == '"');
      if (quoted) { // r'...', b"...", rb'...'
        const bool raw = text.substr(at, end - at).find_first_of("rR") != npos;
        at = skip_string(text, end, raw);
        literal();
      } else {
        at = name(at, end);
      }
    } else {
      if (!space(c)) sign(c);
      ++at;
    }
  }
}

/// Calls `found(begin, end)` for every name of a namespace that the expression reads; it answers
/// where to go on.
template <typename Found>
void each_name(std::string_view text, Found found) {
  bool selects = false; // a dot stands before: a field, not a variable
  each_token(
      text, [&] { selects = false; },
      [&](std::size_t at, std::size_t end) {
        const bool variable = !std::exchange(selects, false) && !under_has(text, at);
        if (!variable) return end;
        for (const auto& chain : k_chains) {
          if (const auto behind = match(text, at, chain); behind != npos) return found(at, behind);
        }
        return end;
      },
      [&](char c) { selects = c == '.'; });
}

std::string cut_of(const Mapping& mapping) { return ".replace('" + mapping.prefix() + "', '', 1)"; }

/// Of a request and a namespace upstream knows that the name is a string. An object's is of any
/// type (dyn), and must stay so: a map or list literal takes no string beside others of that type.
bool any_type(std::string_view chain) { return !chain.starts_with("request") && chain[0] != 'n'; }

constexpr std::string_view k_open = "dyn(";

// How the compiler tells of an error: "ERROR: <input>:LINE:COLUMN: why", below it the line, and
// below that dots up to the column.
constexpr std::string_view k_place = "<input>:";
constexpr std::string_view k_below = "\n | ";

/// Part of a chain of fields, white space as it stands or escaped.
bool chain_text(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return word(c) || space(c) || c == '.' || c == '\\';
  });
}

struct Span {
  std::size_t begin, end;
};

/// The text without the calls that cel_in() adds. `removed`, if not null: where they stood.
std::string without_cuts(std::string_view text, std::string_view cut, std::vector<Span>* removed) {
  std::vector<Span> spans;
  for (auto at = text.find(cut); at != npos; at = text.find(cut, at + cut.size())) {
    auto end = at + cut.size();
    auto chain = at; // where the chain of fields in front of it begins
    while (chain > 0 && chain_text(text.substr(chain - 1, 1)))
      --chain;
    if (chain != at && text.substr(end, 1) == ")" && text.substr(0, chain).ends_with(k_open)) {
      spans.push_back({chain - k_open.size(), chain});
      ++end;
    }
    spans.push_back({at, end});
  }
  std::string out;
  std::size_t copied = 0;
  for (const auto& span : spans) {
    out += text.substr(copied, span.begin - copied);
    copied = span.end;
  }
  out += text.substr(copied);
  if (removed != nullptr) *removed = std::move(spans);
  return out;
}

/// How many of the characters before the (one-based) column were removed.
std::size_t removed_before(std::string_view line, std::size_t column,
                           const std::vector<Span>& removed) {
  std::size_t at = 0; // offset of the column
  for (std::size_t character = 1; at < line.size() && character < column; ++character) {
    ++at;
    while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U)
      ++at;
  }
  std::size_t out = 0;
  for (const auto& [begin, end] : removed)
    out += begin < at ? std::min(end, at) - begin : 0;
  return out;
}

struct Pointed {
  std::string text; ///< from k_place on, with the line shown and the dots
  std::size_t read; ///< bytes of `rest` that are in it
};

/// `line` names a place at `place`, `shown` is the line below it, `rest` begins behind that.
std::optional<Pointed> point_out(std::string_view line, std::size_t place, std::string_view shown,
                                 std::string_view rest, std::string_view cut) {
  const auto number = line.find(':', place + k_place.size());
  if (number == npos) return std::nullopt;
  std::size_t column = 0;
  const auto* digits = line.data() + number + 1;
  const auto parsed = std::from_chars(digits, line.data() + line.size(), column);
  if (parsed.ec != std::errc()) return std::nullopt;
  std::vector<Span> removed;
  const auto own = without_cuts(shown, cut, &removed);
  const auto fewer = removed_before(shown, column, removed);
  Pointed out{std::string(line.substr(place, number + 1 - place)), 0};
  out.text += std::to_string(column - fewer);
  out.text +=
      without_cuts(line.substr(static_cast<std::size_t>(parsed.ptr - line.data())), cut, nullptr);
  out.text += k_below;
  out.text += own;
  if (!rest.starts_with(k_below)) return out;
  const auto dots = rest.find_first_not_of('.', k_below.size());
  const auto count = (dots == npos ? rest.size() : dots) - k_below.size();
  out.text += k_below;
  out.text += std::string(count - std::min(count, fewer), '.');
  out.read = k_below.size() + count;
  return out;
}

} // namespace

std::string cel_in(const Mapping& mapping, std::string_view expression) {
  if (mapping.identity()) return std::string(expression);
  const auto cut = cut_of(mapping);
  std::string out;
  std::size_t copied = 0;
  each_name(expression, [&](std::size_t begin, std::size_t end) {
    const auto chain = expression.substr(begin, end - begin);
    out += expression.substr(copied, begin - copied);
    if (any_type(chain)) out += k_open;
    out += chain;
    out += cut;
    if (any_type(chain)) out += ')';
    copied = end;
    return end;
  });
  out += expression.substr(copied);
  return out;
}

std::string cel_out(const Mapping& mapping, std::string_view expression) {
  if (mapping.identity()) return std::string(expression);
  const auto cut = cut_of(mapping);
  std::string out;
  std::size_t copied = 0;
  each_name(expression, [&](std::size_t begin, std::size_t end) {
    if (expression.substr(end, cut.size()) != cut) return end;
    const auto behind = end + cut.size();
    const auto before = expression.substr(copied, begin - copied);
    const bool wrapped = any_type(expression.substr(begin, end - begin)) &&
                         before.ends_with(k_open) && expression.substr(behind, 1) == ")";
    out += wrapped ? before.substr(0, before.size() - k_open.size()) : before;
    out += expression.substr(begin, end - begin);
    copied = wrapped ? behind + 1 : behind;
    return copied;
  });
  out += expression.substr(copied);
  return out;
}

std::string cel_text_out(const Mapping& mapping, std::string_view text) {
  const auto cut = cut_of(mapping);
  if (mapping.identity() || text.find(cut) == npos) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    const auto behind = text.substr(line.size());
    const auto place = line.rfind(k_place);
    if (place != npos && behind.starts_with(k_below)) {
      const auto shown =
          behind.substr(k_below.size(), behind.find('\n', k_below.size()) - k_below.size());
      const auto rest = behind.substr(k_below.size() + shown.size());
      if (const auto moved = point_out(line, place, shown, rest, cut)) {
        out += without_cuts(line.substr(0, place), cut, nullptr);
        out += moved->text;
        text = rest.substr(moved->read);
        continue;
      }
    }
    out += without_cuts(line, cut, nullptr);
    text = behind;
    if (!text.empty()) {
      out += '\n';
      text.remove_prefix(1);
    }
  }
  return out;
}

bool cel_asks_authorizer(std::string_view text) {
  bool asks = false;
  bool operand = false, selects = false; // what stands before; a dot behind an operand: a field
  each_token(
      text,
      [&] {
        operand = true;
        selects = false;
      },
      [&](std::size_t at, std::size_t end) {
        const auto name = text.substr(at, end - at);
        asks = asks || (!std::exchange(selects, false) && name == "authorizer");
        operand = name != "in";
        return end;
      },
      [&](char c) {
        selects = (c == '.' && operand) || (c == '?' && selects); // x.f, x.?f
        operand = c == ')' || c == ']' || c == '}';
      });
  return asks;
}

} // namespace zoo::translate
