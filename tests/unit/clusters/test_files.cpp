// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/clusters/files.hpp"
#include "daemon/clusters/pki.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat facts{};
  REQUIRE(::lstat(path.c_str(), &facts) == 0);
  return facts.st_mode & 07777U;
}

} // namespace

TEST_CASE("files of a control plane are for zood alone, or for the group of their directory") {
  const test::TemporaryDirectory directory;
  const auto path = directory.path() / "ca.key";
  const auto before = ::umask(0077); // as the unit has it
  REQUIRE(write_for_programs(path, "one"));
  CHECK(mode_of(path) == 0600);
  REQUIRE(open_for_programs(path));
  CHECK(mode_of(path) == 0600);

  REQUIRE(::chmod(directory.path().c_str(), 02710) == 0); // as the keeper hands it on
  REQUIRE(write_for_programs(path, "two"));
  CHECK(mode_of(path) == 0640);
  CHECK(file::read(path).value() == "two");
  REQUIRE(open_for_programs(path));
  CHECK(mode_of(path) == 0660);
  CHECK(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()) == 1);
  ::umask(before);
  CHECK_FALSE(write_for_programs(directory.path() / "none" / "ca.key", ""));
}

TEST_CASE("all that the programs read is written so") {
  const test::TemporaryDirectory directory;
  REQUIRE(::chmod(directory.path().c_str(), 02710) == 0);
  PkiWish wish;
  wish.id = "abc123";
  wish.address = "127.64.0.7";
  std::vector<std::string> written;
  REQUIRE(ensure_pki(directory.path(), wish, std::chrono::system_clock::now(), written));
  unsigned files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory.path())) {
    if (!entry.is_regular_file()) continue;
    ++files;
    CHECK_MESSAGE(mode_of(entry.path()) == 0640, entry.path().string());
  }
  CHECK(files > 20);
  // Their way from where the programs are, whoever may pass above.
  for (const auto* name : {"controller-manager.kubeconfig", "scheduler.kubeconfig"}) {
    const auto text = file::read(directory.path() / name).value();
    CHECK(text.find("certificate-authority: pki/ca.crt") != std::string::npos);
    CHECK(text.find(directory.path().string()) == std::string::npos);
  }
}
