// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

using namespace zoo;
using namespace zoo::store;

namespace {

/// Writes for ever, telling each acknowledged number; never returns.
[[noreturn]] void write_for_ever(const std::filesystem::path& directory, int acknowledge) {
  auto store = open_sqlite({directory, {}, 100});
  if (!store) _exit(2);
  for (std::int32_t i = 1;; ++i) {
    const auto key = fmt::format("key-{}", i % 10);
    const bool ok = i % 7 == 0 ? (*store)->remove("k", key).has_value() ||
                                     (*store)->put("k", key, std::to_string(i)).has_value()
                               : (*store)->put("k", key, std::to_string(i)).has_value();
    if (!ok || ::write(acknowledge, &i, sizeof i) != sizeof i) _exit(3);
  }
}

} // namespace

TEST_CASE("what was acknowledged is there after kill -9, whenever it comes") {
  const test::TemporaryDirectory temporary;
  const auto directory = temporary.path() / "zood";
  std::int64_t total = 0;
  for (const int after : {1, 2, 9, 40}) {
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe_ends[0]);
      write_for_ever(directory, pipe_ends[1]);
    }
    ::close(pipe_ends[1]);
    std::int32_t last = 0;
    std::int32_t number = 0;
    while (last < after && ::read(pipe_ends[0], &number, sizeof number) == sizeof number)
      last = number;
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &number, sizeof number) == sizeof number)
      last = number;
    ::close(pipe_ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(last >= after);

    const auto store = open_sqlite({directory, {}, 100}).value();
    const auto revision = store->revision().value();
    // One write may have been made durable and not told any more.
    CHECK(revision >= total + last);
    CHECK(revision <= total + last + 1);
    if (last % 7 != 0) {
      const auto record = store->get("k", fmt::format("key-{}", last % 10));
      if (revision == total + last) {
        REQUIRE(record);
        CHECK(record->value == std::to_string(last));
        CHECK(record->revision == revision);
      }
    }
    total = revision;
  }
}

TEST_CASE("the directory is free again as soon as its holder is killed") {
  const test::TemporaryDirectory temporary;
  const auto directory = temporary.path() / "zood";
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) write_for_ever(directory, pipe_ends[1]);
  ::close(pipe_ends[1]);
  std::int32_t number = 0;
  REQUIRE(::read(pipe_ends[0], &number, sizeof number) == sizeof number);
  const auto refused = open_sqlite({directory, {}, 100});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::conflict);
  CHECK(refused.error().message().find(directory.string()) != std::string::npos);
  CHECK(refused.error().message().find(fmt::format("process {}", child)) != std::string::npos);
  ::kill(child, SIGKILL);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  ::close(pipe_ends[0]);
  CHECK(open_sqlite({directory, {}, 100}));
}
