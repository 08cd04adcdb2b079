// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "world_rows.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace zoo;
using namespace zoo::test;

namespace {

std::string environment(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What was to happen and what did, from the first section that differs on.
std::string difference(const std::vector<Section>& told, const std::vector<Section>& played) {
  const auto from = std::mismatch(told.begin(), told.end(), played.begin(), played.end());
  std::string out = "the row says:\n";
  for (auto at = from.first; at != told.end(); ++at)
    out += text_of(*at);
  out += "and it was:\n";
  for (auto at = from.second; at != played.end(); ++at)
    out += text_of(*at);
  return out;
}

/// All rows of a file. ZOO_WORLD_ROW: those whose title contains it. ZOO_WORLD=write: the file is
/// written anew with what happens, to be read before it is believed.
void rows_of(std::string_view name) {
  const auto path = fmt::format("{}/tests/unit/gateway/world/{}", ZOO_SOURCE_DIR, name);
  const bool writes = environment("ZOO_WORLD") == "write";
  const auto only = environment("ZOO_WORLD_ROW");
  REQUIRE_FALSE(((writes || !only.empty()) && environment("CI") == "true"));
  auto file = read_rows(path);
  REQUIRE_FALSE(file.rows.empty());
  for (auto& row : file.rows) {
    if (row.title.find(only) == std::string::npos) continue;
    CAPTURE(row.title);
    const auto played = play(row, !writes);
    if (writes) {
      row.sections = played;
    } else {
      CHECK_MESSAGE(played == row.sections, difference(row.sections, played));
    }
  }
  if (writes) REQUIRE(file::write(path, text_of(file), 0644));
}

} // namespace

TEST_CASE("who is let in, and as whom zood asks for him") { rows_of("who.txt"); }
TEST_CASE("which paths go upstream") { rows_of("paths.txt"); }
TEST_CASE("how far lists read") { rows_of("lists.txt"); }
TEST_CASE("how watches begin, go on and end") { rows_of("watches.txt"); }
TEST_CASE("what may be written") { rows_of("writes.txt"); }
TEST_CASE("what the fences let through") { rows_of("fences.txt"); }
TEST_CASE("what rights are and who has them") { rows_of("rights.txt"); }
TEST_CASE("what zood keeps in tenants' namespaces") { rows_of("kept.txt"); }
TEST_CASE("what zood keeps itself, and the platform's") { rows_of("own.txt"); }
TEST_CASE("what users of accounts see") { rows_of("accounts.txt"); }
TEST_CASE("what upstream's failures are to clients") { rows_of("failures.txt"); }
