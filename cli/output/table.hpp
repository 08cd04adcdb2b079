// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

/// Text for people: tables as kubectl aligns them, times as kubectl shortens them. What came from
/// a server is made printable first, so that no escape sequence reaches the terminal.
namespace zoo::cli {

enum class Colour { none, good, waiting, bad, dim };

struct Cell {
  std::string text;
  Colour colour = Colour::none;
};

struct Table {
  std::vector<std::string> headers;
  std::vector<std::vector<Cell>> rows;
};

struct TableStyle {
  bool headers = true;
  bool colours = false;
};

/// Columns three blanks apart, no blanks at the end of a line, empty cells as "<none>".
void print_table(std::ostream& out, const Table& table, TableStyle style);

/// The text in the colour's escape sequence if `colours`, else as it is.
std::string paint(std::string_view text, Colour colour, bool colours);

/// Control characters (C0, DEL, C1) and bytes that are not UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// Columns a terminal needs: combining marks none, wide East Asian characters and emoji two.
std::size_t display_width(std::string_view utf8);

/// kubectl's short form of a span: "45s", "3m20s", "5h10m", "12d", "2y30d"; negative: "0s".
std::string human_span(std::int64_t seconds);

} // namespace zoo::cli
