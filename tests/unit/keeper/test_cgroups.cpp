// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/cgroups.hpp"
#include "daemon/keeper/keeper.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::keeper;
namespace fs = std::filesystem;

namespace {

/// A directory that is as that of a cgroup, of files that keep what was written last.
struct CgroupWorld {
  test::TemporaryDirectory directory;
  fs::path root = directory.path() / "zood-keeper.service";

  CgroupWorld() {
    make(root);
    make(root / "keeper");
    make(root / "abc123");
  }
  static void make(const fs::path& group) {
    fs::create_directories(group);
    for (const auto* name : {"cgroup.procs", "cgroup.subtree_control", "cgroup.kill", "memory.max",
                             "memory.high", "cpu.max", "cpu.weight", "pids.max", "io.weight"})
      std::ofstream(group / name) << "";
  }
  std::string text(const std::string& path) const {
    std::ifstream in(root / path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

} // namespace

TEST_CASE_FIXTURE(CgroupWorld, "a control plane has a cgroup with its bounds") {
  Cgroups cgroups(root);
  CHECK(text("keeper/cgroup.procs") == std::to_string(::getpid()));
  cgroups.hand_on();
  CHECK(text("cgroup.subtree_control").starts_with('+'));
  cgroups.limit("abc123", {1'000'000, 300});
  CHECK(cgroups.soft().empty());
  CHECK(text("abc123/memory.max") == "1000000");
  CHECK(text("abc123/memory.high") == "800000");
  CHECK(text("abc123/cpu.weight") == "300");
  CHECK(text("abc123/cpu.max") == "200000 100000");
  CHECK(text("abc123/pids.max") == "512");
  CHECK(text("abc123/io.weight") == "default 300");
  cgroups.enter("abc123", 4711);
  CHECK(text("abc123/cgroup.procs") == "4711");
  cgroups.remove("abc123");
  CHECK(text("abc123/cgroup.kill") == "1");
  take_back_controllers(root);
  CHECK(text("cgroup.subtree_control").starts_with('-'));
}

TEST_CASE_FIXTURE(CgroupWorld, "a cgroup in which something still ends is removed later") {
  Cgroups cgroups(root);
  make(root / "def456");
  CHECK_FALSE(cgroups.clear());
  cgroups.remove("abc123"); // which has files here, as processes there
  cgroups.remove("def456");
  CHECK(text("abc123/cgroup.kill") == "1");
  CHECK(fs::exists(root / "abc123"));
  CHECK(cgroups.clear());
  fs::remove_all(root / "abc123");
  fs::create_directory(root / "abc123"); // nothing is in it any more
  CHECK(cgroups.clear());                // in the other one there is
  CHECK_FALSE(fs::exists(root / "abc123"));
  CHECK(fs::exists(root / "def456"));
  SUBCASE("until it is gone") {
    fs::remove_all(root / "def456");
    CHECK_FALSE(cgroups.clear());
  }
  SUBCASE("unless a plan has it again") {
    cgroups.limit("def456", {7, 0});
    CHECK_FALSE(cgroups.clear());
    CHECK(text("def456/memory.max") == "7");
  }
}

TEST_CASE_FIXTURE(CgroupWorld, "cgroups of plans are told from the keeper's own") {
  Cgroups cgroups(root);
  make(root / "no-plan.service");
  std::ofstream(root / "ghi789") << "";
  CHECK(cgroups.present() == std::vector<std::string>{"abc123"});
  CHECK(Cgroups().present().empty());
}

TEST_CASE_FIXTURE(CgroupWorld, "a keeper that was killed leaves no cgroup of a plan that is gone") {
  make(root / "def456"); // of a plan that this keeper cannot read
  const auto clusters = directory.path() / "clusters";
  fs::create_directories(clusters / "def456" / "keeper");
  fs::permissions(clusters, fs::perms::owner_all);
  KeeperOptions options;
  options.directory = clusters;
  options.binaries = directory.path();
  options.cgroup = root;
  const auto keeper = Keeper::open(options);
  REQUIRE(keeper);
  CHECK(text("abc123/cgroup.kill") == "1");
  CHECK(text("def456/cgroup.kill").empty());
  CHECK(text("keeper/cgroup.kill").empty());
}

TEST_CASE_FIXTURE(CgroupWorld, "a keeper that is started in the child is of the same cgroup") {
  Cgroups cgroups(root / "keeper");
  cgroups.limit("abc123", {7, 0});
  CHECK(text("abc123/memory.max") == "7");
  CHECK(text("abc123/cpu.weight").empty()); // the usual
}

TEST_CASE_FIXTURE(CgroupWorld, "what cannot be bounded works on, and is told") {
  SUBCASE("without a cgroup of its own") {
    Cgroups none;
    none.hand_on();
    none.limit("abc123", {7, 7});
    none.enter("abc123", 4711);
    none.remove("abc123");
    CHECK(none.soft().find("not started by zood-keeper.service") != std::string::npos);
    CHECK(text("abc123/memory.max").empty());
  }
  SUBCASE("in one that cannot be written to") {
    Cgroups cgroups(directory.path() / "none");
    cgroups.limit("abc123", {7, 7});
    CHECK(cgroups.soft().find("cannot write to its cgroup") != std::string::npos);
  }
  SUBCASE("in one that hands nothing on") {
    fs::remove(root / "cgroup.subtree_control");
    Cgroups cgroups(root);
    cgroups.hand_on();
    CHECK(cgroups.soft().find("hands on no controller memory (No such file") != std::string::npos);
  }
  SUBCASE("where a bound is refused") {
    fs::remove(root / "abc123" / "memory.max");
    Cgroups cgroups(root);
    cgroups.hand_on();
    cgroups.limit("abc123", {7, 7});
    CHECK(cgroups.soft().find("abc123/memory.max: No such file") != std::string::npos);
    CHECK(text("abc123/pids.max") == "512");
  }
}

TEST_CASE("a process's cgroup of version 2 is found") {
  CHECK(cgroup_path("12:memory:/a\n0::/system.slice/zood-keeper.service\n") ==
        "/system.slice/zood-keeper.service");
  CHECK(cgroup_path("12:memory:/a\n").empty());
  CHECK(cgroup_mount("22 1 0:1 / / rw - ext4 /dev/vda rw\n"
                     "35 22 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n") ==
        "/sys/fs/cgroup");
  CHECK(cgroup_mount("22 1 0:1 / / rw - ext4 /dev/vda rw\n").empty());
}
