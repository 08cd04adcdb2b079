// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/store/keyring.hpp"
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

using namespace zoo;
using namespace zoo::store;
using test::StoreMaker;

TEST_CASE("a key is made once and is the same for everybody") {
  StoreMaker maker;
  std::string first;
  {
    const auto store = maker.open();
    auto ring = Keyring::open(*store, maker.directory.path()).value();
    const auto key = ring.key("continue-tokens").value();
    CHECK(key.view().size() == 32);
    CHECK(ring.key("continue-tokens")->view() == key.view());
    CHECK(ring.key("session-tickets")->view() != key.view());
    auto replica = Keyring::open(*store, maker.directory.path()).value();
    CHECK(replica.key("continue-tokens")->view() == key.view());
    first = key.view();
  }
  const auto store = maker.open();
  CHECK(Keyring::open(*store, maker.directory.path())->key("continue-tokens")->view() == first);
}

TEST_CASE("the master key is private, and no key stands in the store as it is") {
  StoreMaker maker;
  const auto store = maker.open();
  auto ring = Keyring::open(*store, maker.directory.path()).value();
  const auto key = ring.key("sealed-keys").value();
  struct stat info{};
  REQUIRE(::stat((maker.directory.path() / "master.key").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  const auto kept = store->get("keyring", "sealed-keys")->value;
  CHECK(kept.find(key.view()) == std::string::npos);
}

TEST_CASE("a master key that is lost, foreign, broken or open to others is refused") {
  StoreMaker maker;
  const auto file = maker.directory.path() / "master.key";
  const auto store = maker.open();
  {
    REQUIRE(Keyring::open(*store, maker.directory.path())->key("a"));
  }
  const auto kept = file::read(file).value();
  const auto message = [&] {
    const auto opened = Keyring::open(*store, maker.directory.path());
    return opened ? std::string() : opened.error().message();
  };
  std::filesystem::remove(file);
  CHECK(message().find("missing") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(file));
  REQUIRE(file::write_secret(file, "c2hvcnQ=\n"));
  CHECK(message().find("32 bytes") != std::string::npos);
  REQUIRE(file::write_secret(file, "not base64"));
  CHECK(message().find("32 bytes") != std::string::npos);
  REQUIRE(file::write(file, kept, 0640));
  CHECK(message().find("others") != std::string::npos);
  REQUIRE(file::write_secret(file, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"));
  auto foreign = Keyring::open(*store, maker.directory.path()).value();
  CHECK(foreign.key("a").error().message().find("same backup") != std::string::npos);
  CHECK(foreign.key("a").error().code() == Code::invalid);
  REQUIRE(file::write_secret(file, kept));
  CHECK(Keyring::open(*store, maker.directory.path())->key("a"));
}

TEST_CASE("a sealed key does not open under another purpose") {
  StoreMaker maker;
  const auto store = maker.open();
  auto ring = Keyring::open(*store, maker.directory.path()).value();
  REQUIRE(ring.key("a"));
  REQUIRE(store->put("keyring", "b", store->get("keyring", "a")->value));
  CHECK(ring.key("b").error().code() == Code::invalid);
}

TEST_CASE("a purpose is a short plain word") {
  StoreMaker maker;
  const auto store = maker.open();
  auto ring = Keyring::open(*store, maker.directory.path()).value();
  for (const auto& bad :
       {std::string(), std::string("A"), std::string("a b"), std::string(65, 'a')})
    CHECK(ring.key(bad).error().code() == Code::invalid);
}
