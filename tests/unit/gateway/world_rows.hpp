// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gateway_world.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::test {

/// A piece of a row: what stands behind "--- ", and the lines below.
struct Section {
  std::string head;
  std::string text;
  bool operator==(const Section&) const = default;
};

/// What one client asks, what zood asks upstream because of it and is answered, and what the client
/// is answered: in the order in which it happens.
struct Row {
  std::string title;
  WorldSettings settings;
  std::vector<Section> sections;
};

/// A file of world/: a comment, and its rows. docs/testing.md says how they are written.
struct RowFile {
  std::string comment;
  std::vector<Row> rows;
};

/// Throws std::runtime_error, with what is wrong, for a file that is not of that form.
RowFile read_rows(const std::filesystem::path& path);
std::string text_of(const RowFile& file);
std::string text_of(const Section& section);

/// What happens: the row's own sections, and as they really were those that tell what zood did
/// ("upstream is asked as ...", "... is answered", "... hears", "... is cut off"). `as_told`: the
/// row says when zood does what, and it is waited for; else those sections are put where they
/// belong, each when nothing more has happened for a while.
std::vector<Section> play(const Row& row, bool as_told);

} // namespace zoo::test
