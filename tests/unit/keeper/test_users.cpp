// SPDX-License-Identifier: Apache-2.0
#include "daemon/keeper/users.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

using namespace zoo;
using namespace zoo::keeper;
namespace fs = std::filesystem;

namespace {

constexpr uid_t k_zood = 1'899'999'999;
constexpr std::uint32_t k_base = 1'900'000'000;

/// Zood's directory with those of two clusters, and a keeper that is root. What is asked of it is
/// asked in a process of its own, since a keeper gives up rights on files for good.
struct UsersWorld {
  test::TemporaryDirectory directory;
  fs::path dir = directory.path() / "zood", clusters = dir / "clusters", own = clusters / "abc123";
  Plan plan;
  Component etcd, apiserver;

  UsersWorld() {
    if (::geteuid() != 0) return;
    REQUIRE(::chmod(directory.path().c_str(), 0711) == 0); // zood's way there
    for (const auto* id : {"abc123", "zzz999"})
      for (const auto* each : {"pki", "etcd/member", "log", "keeper"})
        fs::create_directories(clusters / id / each);
    for (const auto* name : {"pki/ca.key", "etcd/member/db", "log/etcd.log", "keeper/plan.json"})
      REQUIRE(file::write(own / name, "secret", 0600));
    give_to_zood();
    etcd.name = "etcd";
    etcd.writes = {"etcd"};
    apiserver.name = "kube-apiserver";
    plan.id = "abc123";
    plan.number = 7;
    plan.components = {etcd, apiserver};
  }
  void give_to_zood() const {
    REQUIRE(::chown(dir.c_str(), k_zood, k_zood) == 0);
    for (const auto& each : fs::recursive_directory_iterator(dir))
      REQUIRE(::lchown(each.path().c_str(), k_zood, k_zood) == 0);
  }
  /// What a keeper with that clusters.uid_base says to that; "": it went well.
  std::string keeper(std::uint32_t base,
                     const std::function<Result<void>(const Users& users)>& done) const {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const auto users = Users::open(clusters, base);
      const auto result = users ? done(*users) : Result<void>(fail(users.error()));
      const auto text = result ? std::string() : result.error().text();
      [[maybe_unused]] const auto written = ::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    char text[1'024];
    const auto size = ::read(ends[0], text, sizeof(text));
    ::close(ends[0]);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  std::string hand_over(const Component& component, std::uint32_t base = k_base) const {
    return keeper(base, [&](const Users& users) -> Result<void> {
      ZOO_TRY(const auto user, users.user_of(plan));
      return users.hand_over(plan, component, user);
    });
  }
  /// "uid:gid mode", where zood's number is z and that of the cluster c.
  std::string facts(const fs::path& path) const {
    struct stat status{};
    REQUIRE(::lstat((own / path).c_str(), &status) == 0);
    const auto name = [](unsigned number) {
      return number == k_zood       ? std::string("z")
             : number == k_base + 7 ? std::string("c")
                                    : std::to_string(number);
    };
    return fmt::format("{}:{} {:o}", name(status.st_uid), name(status.st_gid),
                       status.st_mode & 07777U);
  }
  bool can_run() const {
    bool passable = ::geteuid() == 0;
    struct stat status{};
    for (auto each = directory.path(); each.has_relative_path(); each = each.parent_path())
      passable = passable && ::stat(each.c_str(), &status) == 0 && (status.st_mode & 01U) != 0;
    if (!passable) MESSAGE("only root can try it, where everybody may pass");
    return passable;
  }
};

} // namespace

TEST_CASE("the user of a control plane is the base and its number") {
  const auto user = numbered_user(k_base, 7);
  REQUIRE(user);
  CHECK(user->uid == 1'900'000'007);
  CHECK(user->gid == user->uid);
  CHECK_FALSE(numbered_user(k_base, 0));        // a plan that does not say it
  CHECK_FALSE(numbered_user(1'000, 7));         // users of people
  CHECK_FALSE(numbered_user(0, 65'536));        // nor without a base
  CHECK_FALSE(numbered_user(k_highest_uid, 1)); // beyond the numbers
  CHECK_FALSE(numbered_user(0xFFFF'FFFFU, 1));  // nor around to root
  CHECK(numbered_user(k_highest_uid - 1, 1)->uid == k_highest_uid);
}

TEST_CASE("programs find their directory from where they are") {
  const fs::path own = "/var/lib/zood/clusters/abc123";
  CHECK(from_here("--data-dir=/var/lib/zood/clusters/abc123/etcd", own) ==
        "--data-dir=/proc/self/cwd/etcd");
  CHECK(from_here("HOME=/var/lib/zood/clusters/abc123", own) == "HOME=/proc/self/cwd");
  CHECK(from_here("/var/lib/zood/clusters/abc123/a,/var/lib/zood/clusters/abc123/b", own) ==
        "/proc/self/cwd/a,/proc/self/cwd/b");
  for (const auto* text : {"", "--v=2", "/var/lib/zood/clusters/abc1234/etcd", "abc123"})
    CHECK(from_here(text, own) == text);
}

TEST_CASE("a keeper that is not root has no choice") {
  const test::TemporaryDirectory directory;
  const Users users;
  CHECK_FALSE(users.choice());
  Plan plan;
  plan.id = "abc123";
  plan.number = 7;
  CHECK(users.user_of(plan) == users.owner());
  CHECK(users.hand_over(plan, {}, users.owner()));
  CHECK(users.give_back("abc123"));
}

TEST_CASE_FIXTURE(UsersWorld, "files are handed to the user of a control plane, and come back") {
  if (!can_run()) return;
  CHECK(hand_over(apiserver) == "");
  CHECK(facts("") == "z:c 2710");
  CHECK(facts("pki") == "z:c 2750");
  CHECK(facts("pki/ca.key") == "z:c 640");
  CHECK(facts("etcd").starts_with("z:z")); // it may run as another one
  CHECK(facts("log/etcd.log") == "z:z 600");
  CHECK(facts("keeper/plan.json") == "z:z 600");

  CHECK(hand_over(etcd) == "");
  CHECK(facts("etcd") == "c:c 700");
  CHECK(facts("etcd/member/db") == "c:c 600");
  CHECK(facts("../zzz999/pki").starts_with("z:z"));

  // What its programs have linked is still theirs.
  fs::create_hard_link(own / "etcd" / "member" / "db", own / "etcd" / "member" / "copy");
  SUBCASE("where each is zood's again") {
    CHECK(hand_over(apiserver, 0) == "");
    CHECK(hand_over(etcd, 0) == "");
  }
  SUBCASE("when it is removed") {
    CHECK(keeper(k_base, [](const Users& users) { return users.give_back("abc123"); }) == "");
    CHECK(keeper(k_base, [](const Users& users) { return users.give_back("none00"); }) == "");
  }
  for (const auto* path : {"", "pki", "etcd", "etcd/member"})
    CHECK(facts(path) == "z:z 700");
  for (const auto* path : {"pki/ca.key", "etcd/member/db"})
    CHECK(facts(path) == "z:z 600");
}

TEST_CASE_FIXTURE(UsersWorld, "nothing is given away that is not zood's own") {
  if (!can_run()) return;
  const auto secret = directory.path() / "secret";
  REQUIRE(file::write(secret, "root's", 0600));
  const auto is_roots = [&] {
    struct stat status{};
    REQUIRE(::stat(secret.c_str(), &status) == 0);
    return status.st_uid == 0 && status.st_gid == 0 && (status.st_mode & 07777U) == 0600;
  };
  SUBCASE("what a link leads to stays as it is") {
    fs::create_symlink(secret, own / "pki" / "link");
    fs::create_directory_symlink(directory.path(), own / "etcd" / "out");
    CHECK(hand_over(etcd) == "");
  }
  SUBCASE("what has two names is left alone") {
    fs::create_hard_link(secret, own / "etcd" / "db");
    CHECK(hand_over(etcd).find("is of user 0, not of zood's") != std::string::npos);
    REQUIRE(::chown(secret.c_str(), k_zood, k_zood) == 0);
    CHECK(hand_over(etcd).find("has a second name") != std::string::npos);
    REQUIRE(::chown(secret.c_str(), 0, 0) == 0);
  }
  SUBCASE("a link in place of the cluster's directory is none") {
    fs::rename(own, clusters / "other");
    fs::create_directory_symlink(directory.path(), own);
    CHECK(hand_over(etcd) != "");
  }
  SUBCASE("a directory of clusters that leads elsewhere is refused") {
    fs::rename(clusters, dir / "moved");
    fs::create_directory_symlink(directory.path(), clusters);
    CHECK(hand_over(etcd) != "");
  }
  CHECK(is_roots());
}

TEST_CASE_FIXTURE(UsersWorld, "a user whose directory is left is given to nobody else") {
  if (!can_run()) return;
  const auto told = [&](const char* id) {
    return keeper(k_base, [&](const Users& users) {
      return users.owns_no_other(numbered_user(k_base, 7).value(), id);
    });
  };
  CHECK(told("zzz999") == "");
  CHECK(hand_over(apiserver) == "");
  CHECK(told("abc123") == "");
  CHECK(told("zzz999").find("has the directory " + own.string()) != std::string::npos);
}

TEST_CASE_FIXTURE(UsersWorld, "a keeper that is root opens files with zood's rights") {
  if (!can_run()) return;
  const auto secret = directory.path() / "secret";
  REQUIRE(file::write(secret, "root's", 0600));
  CHECK(keeper(k_base, [&](const Users& users) -> Result<void> {
          if (!users.choice() || users.owner().uid != k_zood)
            return fail(Code::internal, "it is not zood's");
          if (file::read(secret)) return fail(Code::internal, "it reads root's");
          ZOO_TRY_VOID(file::write(clusters / "new", "", 0600));
          const FilesAsRoot all_rights;
          return file::read(secret).map([](auto&&) {});
        }) == "");
  CHECK(facts("../new") == "z:z 600");
  if (::geteuid() == 0) CHECK(file::read(secret)); // the others' rights are as they were
}

TEST_CASE_FIXTURE(UsersWorld,
                  "what a zood that is root has made in somebody's directory is root's") {
  if (!can_run()) return;
  REQUIRE(::chown(clusters.c_str(), 0, 0) == 0);
  const auto owner_is = [this](std::uint32_t base, uid_t wanted) {
    return keeper(base, [wanted](const Users& users) -> Result<void> {
      if (users.owner().uid == wanted) return {};
      return fail(Code::internal, "it is of user {}", users.owner().uid);
    });
  };
  CHECK(owner_is(0, 0) == "");
  CHECK(owner_is(k_base, 0).find("one of them must have both") != std::string::npos);
  fs::rename(clusters, dir / "moved"); // a link is anybody's
  fs::create_directory_symlink(dir / "moved", clusters);
  CHECK(owner_is(0, 0) != "");
}

TEST_CASE_FIXTURE(UsersWorld, "a keeper that is zood's user says that it is not root") {
  if (!can_run()) return;
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (!become_user({k_zood, k_zood})) ::_exit(2);
    const auto users = Users::open(clusters, k_base);
    const auto off = Users::open(clusters, 0);
    const bool same = users && off && !users->choice() && users->owner() == User{k_zood, k_zood} &&
                      users->user_of(plan) == users->owner() &&
                      users->hand_over(plan, etcd, users->owner());
    ::_exit(same && users->trouble().find("is not root") != std::string::npos &&
                    off->trouble().empty()
                ? 0
                : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(facts("etcd").starts_with("z:z")); // untouched
}

TEST_CASE_FIXTURE(UsersWorld, "a process becomes that user for good") {
  if (!can_run()) return;
  const auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const bool became = become_user({k_base + 7, k_base + 7});
    const bool stays = ::setuid(0) != 0 && ::seteuid(0) != 0 && ::setgid(0) != 0;
    const bool alone = ::getgroups(0, nullptr) == 0 && ::getegid() == k_base + 7;
    ::_exit(became && stays && alone && ::getuid() == k_base + 7 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
