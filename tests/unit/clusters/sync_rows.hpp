// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/unit/clusters/sync_worlds.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// Tests as tables: each row says which requests the syncer sends to the two API servers.
namespace zoo::tests {

/// One case: what was there when all had been looked at, what happens then, and what is sent for
/// that: "DELETE pods/web".
template <typename World>
struct CaseRow {
  const char* name;
  std::function<void(World&)> before, then;
  Lines own, up;
};

/// In one text, which a failed check shows.
std::string text_of(const Lines& lines);
/// What the syncer has written to a side behind the first so many requests, in that form.
std::string sent(const FakeSide& side, std::size_t before);

/// `looks`: what is done behind `before` and `then`. Nobody looks while `then` happens where
/// `patrol`: what it was is found by reading both sides.
template <typename World>
void run_rows(
    const std::vector<CaseRow<World>>& rows, bool patrol,
    const std::function<void(World&)>& looks = [](World&) {}) {
  for (const auto& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    World world;
    if (row.before) row.before(world);
    world.start();
    looks(world);
    const auto own = world.own.lines().size(), up = world.up.lines().size();
    if (patrol) world.stop();
    if (row.then) row.then(world);
    if (patrol) world.start();
    world.settle();
    looks(world);
    CHECK(sent(world.own, own) == text_of(row.own));
    CHECK(sent(world.up, up) == text_of(row.up));
  }
}

// What others do to an object that is there.

void change(FakeSide& side, const char* path, const char* pointer, nlohmann::json value);
void annotate(FakeSide& side, const char* path, const char* key, const char* value);
/// It has no labels and annotations any more, by which it would be known.
void drop_marks(FakeSide& side, const char* path);
/// Another one has its name now.
void remake(FakeSide& side, const char* path);

} // namespace zoo::tests
