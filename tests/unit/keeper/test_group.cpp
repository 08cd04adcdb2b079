// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/keeper/world.hpp"

#include <signal.h>

using namespace zoo;
using namespace zoo::keeper;
using Phase = ComponentState::Phase;

namespace {

struct GroupWorld : test::KeeperWorld {
  std::filesystem::path own = directory.path() / "abc123";
  Patience patience = [] {
    Patience out;
    out.retry = std::chrono::milliseconds(10);
    out.look = std::chrono::milliseconds(5);
    out.log_bytes = 64;
    out.logs = 3;
    return out;
  }();
  Cgroups cgroups;
  Users users;
  std::unique_ptr<Group> group;

  ~GroupWorld() {
    if (!group) return;
    group->remove();
    wait([this] { return group->gone(); });
  }
  Group& open() {
    group = std::make_unique<Group>(own, binaries, patience, cgroups, users);
    return *group;
  }
  bool wait(const std::function<bool()>& so) {
    return test::until(so, [this] { group->turn(Group::Clock::now(), true); });
  }
  bool ready() {
    return wait([this] { return group->state().ready(); });
  }
  pid_t pid(std::size_t index) const {
    return static_cast<pid_t>(group->state().components.at(index).pid);
  }
};

} // namespace

TEST_CASE_FIXTURE(GroupWorld, "components start in order and stop in reverse") {
  open();
  REQUIRE(group->put(plan(false)));
  group->turn(Group::Clock::now(), true);
  CHECK(group->gone());
  REQUIRE(group->wish(true));
  group->turn(Group::Clock::now(), true);
  CHECK(pid(0) > 0);
  CHECK(pid(1) == 0); // etcd does not listen yet
  REQUIRE(ready());
  CHECK(group->state().components[0].restarts == 0);
  // The logs of programs that run without a keeper, too.
  CHECK(std::filesystem::file_size(own / "log" / "etcd.log") > 0);
  CHECK((std::filesystem::status(own / "keeper").permissions() & std::filesystem::perms::all) ==
        std::filesystem::perms::owner_all);

  REQUIRE(group->wish(false));
  CHECK(wait([this] { return pid(1) == 0; }));
  CHECK(wait([this] { return group->gone(); }));
  CHECK(group->state().components[0].restarts == 0); // told to
  CHECK(group->state().components[0].phase == Phase::stopped);
}

TEST_CASE_FIXTURE(GroupWorld, "what ends by itself is started again, and nothing else") {
  open();
  REQUIRE(group->put(plan()));
  REQUIRE(ready());
  const auto etcd = pid(0), other = pid(1);
  REQUIRE(::kill(etcd, SIGKILL) == 0);
  REQUIRE(wait([&] { return pid(0) != etcd && group->state().ready(); }));
  CHECK(pid(1) == other);
  CHECK(group->state().components[0].restarts == 1);
  CHECK(group->state().components[0].failures == 1);
  CHECK(group->state().components[0].ended == "signal 9");
}

TEST_CASE_FIXTURE(GroupWorld, "another keeper finds the processes that still run") {
  open();
  REQUIRE(group->put(plan()));
  REQUIRE(ready());
  const auto etcd = pid(0), other = pid(1);
  open(); // without a word to the one before
  REQUIRE(group->load());
  CHECK(pid(0) == etcd);
  CHECK(pid(1) == other);
  REQUIRE(ready());
  CHECK(pid(0) == etcd);

  SUBCASE("and supervises them") {
    REQUIRE(::kill(other, SIGKILL) == 0);
    REQUIRE(wait([&] { return pid(1) != other && group->state().ready(); }));
    CHECK(pid(0) == etcd);
    CHECK(group->state().components[1].restarts == 1);
  }
  SUBCASE("and lets those go on that are as the plan says") {
    auto next = plan();
    next.components[1].arguments.emplace_back("more");
    REQUIRE(group->put(next));
    REQUIRE(wait([&] { return pid(1) != 0 && pid(1) != other && group->state().ready(); }));
    CHECK(pid(0) == etcd);
    CHECK(group->state().components[1].restarts == 0);
  }
  SUBCASE("and starts another version anew") {
    auto next = plan();
    next.version = "1.0.1";
    REQUIRE(group->put(next));
    REQUIRE(wait([&] { return pid(0) != etcd && pid(1) != other && group->state().ready(); }));
  }
  SUBCASE("but no other process that has the number of one") {
    REQUIRE(group->wish(false));
    REQUIRE(wait([this] { return group->gone(); }));
    CHECK_FALSE(Process::adopt({::getpid(), 1, 0, 0}));
  }
}

TEST_CASE_FIXTURE(GroupWorld, "a program that is not there is told and tried again") {
  open();
  auto next = plan();
  next.components[0].name = "etcd-none";
  next.components[1].after = {};
  REQUIRE(group->put(next));
  REQUIRE(wait([this] { return group->state().components[0].restarts > 2; }));
  CHECK(group->state().components[0].phase == Phase::waiting);
  CHECK(group->state().components[0].ended.find("No such file") != std::string::npos);
  CHECK(wait([this] { return group->state().components[1].phase == Phase::running; }));
}

TEST_CASE_FIXTURE(GroupWorld, "a process that does not listen to SIGTERM is killed") {
  patience.grace = std::chrono::milliseconds(50);
  open();
  auto next = plan();
  next.components.resize(1);
  next.components[0].arguments[1] =
      "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" +
      next.components[0].arguments[1];
  REQUIRE(group->put(next));
  REQUIRE(ready());
  REQUIRE(group->wish(false));
  CHECK(wait([this] { return group->gone(); }));
}

TEST_CASE_FIXTURE(GroupWorld, "logs that have grown are put aside, as many as are to be kept") {
  open();
  REQUIRE(group->put(plan()));
  REQUIRE(ready());
  const auto log = own / "log" / "etcd.log";
  for (int times = 0; times < 5; ++times) {
    std::ofstream(log, std::ios::app) << std::string(100, 'x') << '\n';
    group->rotate_logs();
    CHECK(std::filesystem::file_size(log) == 0);
  }
  CHECK(std::filesystem::exists(log.string() + ".1"));
  CHECK(std::filesystem::exists(log.string() + ".2"));
  CHECK_FALSE(std::filesystem::exists(log.string() + ".3"));
}

TEST_CASE_FIXTURE(GroupWorld, "of a log that has grown far beyond its bound the end is kept") {
  open();
  REQUIRE(group->put(plan()));
  REQUIRE(ready());
  const auto log = own / "log" / "etcd.log";
  std::ofstream(log, std::ios::app) << std::string(100'000, 'x') << "the end";
  group->rotate_logs();
  CHECK(std::filesystem::file_size(log) == 0);
  const auto kept = file::read(log.string() + ".1");
  REQUIRE(kept);
  CHECK(kept->size() == patience.log_bytes);
  CHECK(kept->ends_with("xthe end"));
  CHECK(
      (std::filesystem::status(log.string() + ".1").permissions() & std::filesystem::perms::all) ==
      (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}
