// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/fence.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

using namespace zoo;
using namespace zoo::keeper;
namespace fs = std::filesystem;

namespace {

/// Two clusters' directories, and what a process behind the fence of the first may do.
struct FenceWorld {
  test::TemporaryDirectory directory;
  fs::path own = directory.path() / "abc123", other = directory.path() / "zzz999";
  FenceWish wish;

  FenceWorld() {
    for (const auto& each : {own, other}) {
      fs::create_directories(each / "pki");
      fs::create_directories(each / "etcd" / "member");
      REQUIRE(file::write(each / "pki" / "ca.key", "secret", 0600));
    }
    REQUIRE(file::write(directory.path() / "master.key", "secret", 0600));
    wish.reads = {own};
    wish.writes = {own / "etcd"};
  }
  /// Is that so behind the fence, in a process of its own?
  bool inside(const std::function<bool()>& so) const {
    const auto fence = Fence::around(wish);
    REQUIRE(fence);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) ::_exit(enter_fence(fence->descriptor()) ? (so() ? 0 : 1) : 2);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE(WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status) == 0;
  }
  static bool opens(const fs::path& path, int flags) {
    const file::Fd opened(::open(path.c_str(), flags | O_CLOEXEC, 0600));
    return static_cast<bool>(opened);
  }
};

} // namespace

TEST_CASE_FIXTURE(FenceWorld, "a program opens the files of its own cluster, and of no other") {
  if (const auto trouble = fence_trouble(); !trouble.empty()) {
    MESSAGE(trouble);
    const auto fence = Fence::around(wish);
    REQUIRE(fence);
    CHECK(fence->descriptor() == -1);
    return;
  }
  CHECK(inside([&] { return opens(own / "pki" / "ca.key", O_RDONLY); }));
  CHECK_FALSE(inside([&] { return opens(own / "pki" / "ca.key", O_WRONLY); }));
  CHECK_FALSE(inside([&] { return opens(own / "new", O_WRONLY | O_CREAT); }));
  CHECK_FALSE(inside([&] { return ::unlink((own / "pki" / "ca.key").c_str()) == 0; }));
  CHECK(inside([&] { return opens(own / "etcd" / "member" / "db", O_RDWR | O_CREAT); }));
  CHECK(inside([&] { // as etcd makes its log
    return ::mkdir((own / "etcd" / "wal.tmp").c_str(), 0700) == 0 &&
           opens(own / "etcd" / "wal.tmp" / "0", O_RDWR | O_CREAT) &&
           ::rename((own / "etcd" / "wal.tmp").c_str(), (own / "etcd" / "wal").c_str()) == 0 &&
           ::rename((own / "etcd" / "wal" / "0").c_str(),
                    (own / "etcd" / "member" / "0").c_str()) == 0 &&
           ::truncate((own / "etcd" / "member" / "0").c_str(), 7) == 0 &&
           ::unlink((own / "etcd" / "member" / "0").c_str()) == 0;
  }));
  CHECK_FALSE(inside([&] { return opens(other / "pki" / "ca.key", O_RDONLY); }));
  CHECK_FALSE(inside([&] { return opens(other / "etcd" / "member", O_RDONLY | O_DIRECTORY); }));
  CHECK_FALSE(inside([&] { return opens(directory.path() / "master.key", O_RDONLY); }));
  CHECK_FALSE(inside([&] { return opens("/etc/shadow", O_RDONLY); }));
  // From Linux 6.16 on whoever has CAP_PERFMON may read that of everybody (may_access_mm).
  const auto environment = "/proc/" + std::to_string(::getpid()) + "/environ";
  if (::geteuid() != 0) CHECK_FALSE(inside([&] { return opens(environment, O_RDONLY); }));
  for (const auto* path : {"/etc/hosts", "/etc/resolv.conf", "/proc/self/status", "/dev/urandom"})
    if (fs::exists(path)) CHECK(inside([&] { return opens(path, O_RDONLY); }));
  CHECK(inside([&] { return opens("/dev/null", O_RDWR); }));
}
