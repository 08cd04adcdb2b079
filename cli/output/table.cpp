// SPDX-License-Identifier: Apache-2.0
#include "cli/output/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace zoo::cli {
namespace {

constexpr char32_t k_bad = 0xFFFFFFFF;

/// Takes one character off the front; k_bad (and one byte) where there is no whole one.
char32_t next_character(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80    ? 1
                             : first >= 0xF0 ? 4
                             : first >= 0xE0 ? 3
                             : first >= 0xC2 ? 2
                                             : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) {
    text.remove_prefix(1);
    return k_bad;
  }
  char32_t value = length == 1 ? first : first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) {
      text.remove_prefix(1);
      return k_bad;
    }
    value = (value << 6) | (byte & 0x3Fu);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || (value >= 0xD800 && value <= 0xDFFF) || value > 0x10FFFF) {
    text.remove_prefix(1);
    return k_bad;
  }
  text.remove_prefix(length);
  return value;
}

struct Span {
  char32_t first, last;
};

// Unicode 15: the blocks of general use whose East_Asian_Width is W or F.
constexpr Span k_wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
                           {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
                           {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                           {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
constexpr Span k_empty[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
                            {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                            {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

bool within(char32_t value, const auto& spans) {
  return std::any_of(std::begin(spans), std::end(spans), [value](const Span& span) {
    return value >= span.first && value <= span.last;
  });
}

} // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto before = text;
    const auto value = next_character(text);
    // Bidirectional overrides can make a name look like another one.
    const bool reorders =
        (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
    if (value == k_bad || value < 0x20 || (value >= 0x7F && value < 0xA0) || reorders) {
      out += "\xEF\xBF\xBD";
    } else {
      out += before.substr(0, before.size() - text.size());
    }
  }
  return out;
}

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const auto value = next_character(utf8);
    width += within(value, k_empty) ? 0 : within(value, k_wide) ? 2 : 1;
  }
  return width;
}

std::string paint(std::string_view text, Colour colour, bool colours) {
  if (!colours || colour == Colour::none) return std::string(text);
  const int number = colour == Colour::good      ? 32
                     : colour == Colour::waiting ? 33
                     : colour == Colour::bad     ? 31
                                                 : 2;
  return fmt::format("\x1b[{}m{}\x1b[0m", number, text);
}

void print_table(std::ostream& out, const Table& table, TableStyle style) {
  std::vector<std::vector<Cell>> lines;
  if (style.headers) {
    auto& line = lines.emplace_back();
    for (const auto& header : table.headers)
      line.push_back({header, Colour::none});
  }
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const auto& cell : row) {
      line.push_back({cell.text.empty() ? "<none>" : printable(cell.text), cell.colour});
    }
  }
  std::vector<std::size_t> widths(table.headers.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(line[i].text));
  }
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < line.size() && i < widths.size(); ++i) {
      text += paint(line[i].text, line[i].colour, style.colours);
      if (i + 1 < line.size()) text.append(widths[i] - display_width(line[i].text) + 3, ' ');
    }
    out << text << '\n';
  }
}

std::string human_span(std::int64_t seconds) {
  if (seconds < 0) return "0s";
  const auto pair = [](std::int64_t big, char big_unit, std::int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit)
                      : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  const auto minutes = seconds / 60, hours = seconds / 3600, days = seconds / 86400;
  const auto years = days / 365;
  if (seconds < 120) return fmt::format("{}s", seconds);
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (hours < 192) return pair(days, 'd', hours % 24, 'h');
  if (years < 2) return fmt::format("{}d", days);
  if (years < 8) return pair(years, 'y', days % 365, 'd');
  return fmt::format("{}y", years);
}

} // namespace zoo::cli
