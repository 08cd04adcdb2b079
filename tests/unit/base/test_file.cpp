// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

using namespace zoo;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat info{};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 0777u;
}

std::size_t entries(const fs::path& directory) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

} // namespace

TEST_CASE("a secret file is private and whole") {
  const test::TemporaryDirectory temporary;
  const auto path = temporary.path() / "key";
  REQUIRE(file::write_secret(path, "one"));
  CHECK(mode_of(path) == 0600);
  CHECK(file::read(path).value() == "one");
  CHECK(file::read_secret(path)->view() == "one");
  CHECK(entries(temporary.path()) == 1);
}

TEST_CASE("writing replaces a file, and a link to one, and never follows the link") {
  const test::TemporaryDirectory temporary;
  const auto target = temporary.path() / "target", link = temporary.path() / "link";
  REQUIRE(file::write(target, "old", 0644));
  fs::create_symlink(target, link);
  REQUIRE(file::write_secret(link, "new"));
  CHECK(file::read(target).value() == "old");
  CHECK(file::read(link).value() == "new");
  CHECK_FALSE(fs::is_symlink(link));
  CHECK(mode_of(link) == 0600);
}

TEST_CASE("a write that cannot happen leaves nothing behind") {
  const test::TemporaryDirectory temporary;
  const auto missing = file::write(temporary.path() / "no" / "file", "x", 0600);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code() == Code::not_found);
  const auto onto_directory = temporary.path() / "directory";
  fs::create_directories(onto_directory / "full");
  const auto refused = file::write(onto_directory, "x", 0600);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code() == Code::io);
  CHECK(refused.error().message().find(onto_directory.string()) != std::string::npos);
  CHECK(entries(temporary.path()) == 1);
}

TEST_CASE("reading tells a missing file from one that is too large") {
  const test::TemporaryDirectory temporary;
  const auto path = temporary.path() / "file";
  CHECK(file::read(path).error().code() == Code::not_found);
  REQUIRE(file::write(path, "12345", 0600));
  CHECK(file::read(path, 5).value() == "12345");
  CHECK(file::read(path, 4).error().code() == Code::too_large);
  CHECK(file::read(temporary.path()).error().code() == Code::io);
}

TEST_CASE("a private directory is made with its parents and kept as it is") {
  const test::TemporaryDirectory temporary;
  const auto path = temporary.path() / "a" / "b";
  REQUIRE(file::ensure_private_directory(path));
  CHECK(mode_of(path) == 0700);
  REQUIRE(file::ensure_private_directory(path));
  std::ofstream(temporary.path() / "plain") << "x";
  CHECK(file::ensure_private_directory(temporary.path() / "plain" / "below").error().code() ==
        Code::io);
}

TEST_CASE("a descriptor is closed once") {
  int number = -1;
  {
    file::Fd one(::open("/dev/null", O_RDONLY));
    number = one.get();
    file::Fd two(std::move(one));
    CHECK_FALSE(one); // NOLINT
    CHECK(two.get() == number);
  }
  CHECK(::fcntl(number, F_GETFD) == -1);
  file::Fd three(::open("/dev/null", O_RDONLY));
  const int released = three.release();
  CHECK_FALSE(three);
  CHECK(::close(released) == 0);
}
