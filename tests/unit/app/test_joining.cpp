// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/app/joining.hpp"
#include "daemon/store/sqlite.hpp"
#include "tests/unit/base/temporary_directory.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace zoo;
using test::TemporaryDirectory;

TEST_CASE("a store belongs to the first upstream that a zood of it stood in front of") {
  const TemporaryDirectory directory;
  const auto store = store::open_sqlite({directory.path() / "zood", {}, 100}).value();
  CHECK(app::check_upstream(*store, "one"));
  CHECK(app::check_upstream(*store, "one"));
  const auto other = app::check_upstream(*store, "two");
  REQUIRE_FALSE(other);
  CHECK(other.error().code() == Code::conflict);
  CHECK(other.error().message().find("its kube-system is one") != std::string::npos);
}

TEST_CASE("an invitation is of a store that others can reach, and holds what they need") {
  const TemporaryDirectory directory;
  REQUIRE(file::write_secret(directory.path() / "master.key", "the key\n"));
  config::StorePlace place;
  place.file = "/somewhere/zood.db";
  CHECK(app::invitation(place, directory.path()).error().code() == Code::conflict);
  place.driver = "etcd";
  place.endpoints = {"https://192.0.2.1:2379"};
  place.prefix = "/zood/";
  place.username = "zood";
  place.password = Secret(std::string("p\"w"));
  place.ca_pem = "CA";
  const auto text = app::invitation(place, directory.path()).value();
  const auto parts = nlohmann::json::parse(text.view());
  CHECK(parts["masterKey"] == "the key\n");
  const auto back = config::store_place_of(parts["store"]).value();
  CHECK(back.endpoints == place.endpoints);
  CHECK(back.password.view() == "p\"w");
  CHECK(back.text() == "etcd https://192.0.2.1:2379 /zood/");
}

TEST_CASE(
    "a directory that is not empty is not made another zood's, nor one of what is no invitation") {
  const TemporaryDirectory directory;
  config::Values values;
  REQUIRE(file::write_secret(directory.path() / "invitation", R"({"form":"something"})"));
  REQUIRE(values.set("dir", directory.path().string()));
  CHECK(app::join(values, directory.path() / "invitation").error().code() == Code::conflict);
  REQUIRE(values.set("dir", (directory.path() / "new").string()));
  CHECK(app::join(values, directory.path() / "invitation").error().code() == Code::invalid);
  CHECK(app::join(values, directory.path() / "none").error().code() == Code::not_found);
  CHECK_FALSE(std::filesystem::exists(directory.path() / "new" / "master.key"));
}
