// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/cel.hpp"
#include "daemon/translate/cel_cuts.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace zoo::translate {
namespace {

// How the compiler tells of an error: "ERROR: <input>:LINE:COLUMN: why", below it the line, and
// below that dots up to the column.
constexpr std::string_view k_place = "<input>:";
constexpr std::string_view k_below = "\n | ";

constexpr auto npos = std::string_view::npos;

/// Bytes in front of a cut in which the beginning of its piece is looked for: text for people may
/// be long, and is read once.
constexpr std::size_t k_longest_piece = 1024;

bool word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }

/// Part of a chain of fields, white space as it stands or escaped.
bool chain_text(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return word(c) || space(c) || c == '.' || c == '\\';
  });
}

struct Span {
  std::size_t begin, end;
};

/// Removes cuts from text in which an expression stands anywhere, so that it cannot be read as one.
class Remover {
public:
  Remover(std::string_view text, const CelCuts& forms) : text_(text), forms_(forms) {}

  std::vector<Span> run() {
    // The forms behind an optional hold another one and are looked for first.
    const std::array<std::string_view, 5> closes = {forms_.optional, forms_.optional_list,
                                                    forms_.any, forms_.list, forms_.string};
    std::array<std::size_t, 5> next{};
    for (std::size_t i = 0; i < closes.size(); ++i)
      next[i] = text_.find(closes[i]);
    for (;;) {
      const auto nearest = std::min_element(next.begin(), next.end());
      if (*nearest == npos) break;
      const auto at = *nearest;
      const auto& close = closes[static_cast<std::size_t>(nearest - next.begin())];
      auto end = at + close.size();
      if (&close == &closes[2] || &close == &closes[3]) {
        bracket(at);
      } else if (&close == &closes[4] && chain(at, end)) {
        ++end;
      }
      spans_.push_back({at, end});
      for (std::size_t i = 0; i < closes.size(); ++i)
        if (next[i] < end) next[i] = text_.find(closes[i], end);
    }
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& a, const Span& b) { return a.begin < b.begin; });
    return std::move(spans_);
  }

private:
  /// "[dyn(" in front of the piece that ends at `at`.
  void bracket(std::size_t at) {
    const auto stop = at > k_longest_piece ? at - k_longest_piece : 0;
    for (std::size_t depth = 0; at > stop; --at) {
      const char c = text_[at - 1];
      if (c == ')' || c == ']' || c == '}') {
        ++depth;
      } else if (c == '(' || c == '[' || c == '{') {
        if (depth == 0) {
          if (text_.substr(0, at).ends_with(k_list_open))
            spans_.push_back({at - k_list_open.size(), at});
          return;
        }
        --depth;
      }
    }
  }

  /// "dyn(" in front of the chain of fields that ends at `at`, if the bracket that belongs to it
  /// stands at `end`.
  bool chain(std::size_t at, std::size_t end) {
    auto begin = at;
    const auto stop = at > k_longest_piece ? at - k_longest_piece : 0;
    while (begin > stop && chain_text(text_.substr(begin - 1, 1)))
      --begin;
    if (begin == at || text_.substr(end, 1) != ")" || !text_.substr(0, begin).ends_with(k_dyn_open))
      return false;
    spans_.push_back({begin - k_dyn_open.size(), begin});
    return true;
  }

  std::string_view text_;
  const CelCuts& forms_;
  std::vector<Span> spans_;
};

/// The text without what cel_in() adds. `removed`, if not null: where that stood.
std::string without_cuts(std::string_view text, const CelCuts& forms, std::vector<Span>* removed) {
  auto spans = Remover(text, forms).run();
  std::string out;
  std::size_t copied = 0;
  for (const auto& span : spans) {
    if (span.begin < copied) continue;
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
                                 std::string_view rest, const CelCuts& forms) {
  const auto number = line.find(':', place + k_place.size());
  if (number == npos) return std::nullopt;
  std::size_t column = 0;
  const auto* digits = line.data() + number + 1;
  const auto parsed = std::from_chars(digits, line.data() + line.size(), column);
  if (parsed.ec != std::errc()) return std::nullopt;
  std::vector<Span> removed;
  const auto own = without_cuts(shown, forms, &removed);
  const auto fewer = removed_before(shown, column, removed);
  Pointed out{std::string(line.substr(place, number + 1 - place)), 0};
  out.text += std::to_string(column - fewer);
  out.text +=
      without_cuts(line.substr(static_cast<std::size_t>(parsed.ptr - line.data())), forms, nullptr);
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

std::string cel_text_out(const Mapping& mapping, std::string_view text) {
  if (mapping.identity() || text.find(mapping.prefix()) == npos) return std::string(text);
  const CelCuts forms(mapping);
  std::string out;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    const auto behind = text.substr(line.size());
    const auto place = line.rfind(k_place);
    if (place != npos && behind.starts_with(k_below)) {
      const auto shown =
          behind.substr(k_below.size(), behind.find('\n', k_below.size()) - k_below.size());
      const auto rest = behind.substr(k_below.size() + shown.size());
      if (const auto moved = point_out(line, place, shown, rest, forms)) {
        out += without_cuts(line.substr(0, place), forms, nullptr);
        out += moved->text;
        text = rest.substr(moved->read);
        continue;
      }
    }
    out += without_cuts(line, forms, nullptr);
    text = behind;
    if (!text.empty()) {
      out += '\n';
      text.remove_prefix(1);
    }
  }
  return out;
}

} // namespace zoo::translate
