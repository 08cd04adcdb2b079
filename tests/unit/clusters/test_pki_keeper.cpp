// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/clusters/pki_keeper.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

using namespace zoo;
using namespace zoo::clusters;
using How = PkiKeeper::How;

namespace {

struct KeeperWorld {
  test::TemporaryDirectory directory;
  PkiWish wish = [] {
    PkiWish out;
    out.id = "abc123";
    out.address = "127.64.0.7";
    out.validity = std::chrono::hours(30);
    return out;
  }();
  std::vector<PkiKeeper::Change> told;
  PkiKeeper keeper{[this](const std::string& id) { return directory.path() / id; },
                   [this](const std::string& id, PkiKeeper::Change change) {
                     CHECK(id == "abc123");
                     told.push_back(change);
                   }};

  KeeperWorld() { REQUIRE(std::filesystem::create_directory(directory.path() / "abc123")); }

  Result<void> keep(How how = How::now) {
    told.clear();
    return keeper.keep("abc123", [this]() -> Result<PkiWish> { return wish; }, how);
  }
  std::filesystem::path file(const std::string& name) const {
    return directory.path() / "abc123" / "pki" / name;
  }
  std::string text(const std::string& name) const { return file::read(file(name)).value_or(""); }
  /// Nothing can be written there any more.
  void block(const std::string& name) const {
    std::filesystem::remove(file(name));
    REQUIRE(std::filesystem::create_directory(file(name)));
  }
  void unblock(const std::string& name) const { REQUIRE(std::filesystem::remove(file(name))); }
};

} // namespace

TEST_CASE_FIXTURE(KeeperWorld, "whoever uses certificates is told of those that were written") {
  REQUIRE(keep());
  REQUIRE(told.size() == 1);
  CHECK(told[0].own);
  CHECK(told[0].administrator);
  REQUIRE(keep());
  REQUIRE(told.size() == 1); // that all is well
  CHECK_FALSE(told[0].own);
  CHECK_FALSE(told[0].administrator);
  wish.rotation = 1;
  REQUIRE(keep());
  CHECK_FALSE(told.at(0).own);
  CHECK(told.at(0).administrator);
  REQUIRE(keep(How::leaves));
  CHECK(told.at(0).own);
  CHECK(told.at(0).administrator);
}

TEST_CASE_FIXTURE(KeeperWorld, "what was written before a failure is told of all the same") {
  REQUIRE(keep());
  const auto before = text("ca.crt");
  // The authority is announced before the leaf that cannot be written; nobody hears of it later.
  wish.authority = AuthorityStage::announced;
  wish.authority_turn = 1;
  block("scheduler.crt");
  REQUIRE_FALSE(keep());
  CHECK(text("ca.crt") != before);
  REQUIRE(told.size() == 1);
  CHECK(told[0].own);
  CHECK(told[0].administrator);
  unblock("scheduler.crt");
  REQUIRE(keep());
  CHECK_FALSE(told.at(0).own); // the certificate of the scheduler alone
}

TEST_CASE_FIXTURE(KeeperWorld, "an authority whose second file cannot be written is told of") {
  REQUIRE(keep());
  wish.authority = AuthorityStage::announced;
  wish.authority_turn = 1;
  REQUIRE(keep());
  wish.authority = AuthorityStage::used;
  wish.authority_turn = 2;
  block("ca-signing.crt");
  REQUIRE_FALSE(keep());
  REQUIRE(told.size() == 1);
  CHECK(told[0].own);
  unblock("ca-signing.crt");
  REQUIRE(keep());
  CHECK(told.at(0).own); // its leaf follows
}

TEST_CASE_FIXTURE(KeeperWorld, "a failure that has written nothing is told to nobody") {
  REQUIRE(keep());
  block("scheduler.crt");
  REQUIRE_FALSE(keep());
  CHECK(told.empty());
}

TEST_CASE_FIXTURE(KeeperWorld, "what was good is not looked at ten times a second") {
  REQUIRE(keep());
  std::filesystem::remove(file("zood.crt"));
  REQUIRE(keep(How::due));
  CHECK(text("zood.crt").empty());
  wish.names.push_back("extra.example.com"); // another wish is
  REQUIRE(keep(How::due));
  CHECK_FALSE(text("zood.crt").empty());
  CHECK(told.at(0).own);
  // Nor is it good before all is written.
  wish.names.push_back("more.example.com");
  block("scheduler.crt");
  REQUIRE_FALSE(keep(How::due));
  unblock("scheduler.crt");
  REQUIRE(keep(How::due));
  CHECK_FALSE(text("scheduler.crt").empty());
  std::filesystem::remove(file("zood.crt"));
  keeper.forget("abc123");
  REQUIRE(keep(How::due));
  CHECK_FALSE(text("zood.crt").empty());
}
