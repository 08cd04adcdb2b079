// SPDX-License-Identifier: Apache-2.0
#include "common/backup/archive.hpp"
#include "common/base/file.hpp"
#include "common/crypto/digest.hpp"
#include "tests/unit/base/temporary_directory.hpp"
#include "tests/unit/cli/harness.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

using namespace zoo;
using namespace zoo::cli::test;
using nlohmann::json;

namespace {

/// What zood answers: a state with one tenant.
std::string state() {
  backup::Content content;
  content.header.version = "1.2.3";
  content.header.created = "2026-11-27T18:00:00Z";
  content.header.revision = 7;
  content.files.push_back(
      {"master.key", Secret(crypto::base64_encode(std::string(32, 'k')) + "\n")});
  content.records.push_back({"tenant", "foofoo", Secret(std::string("{}")), 7, 7});
  return std::string(backup::text_of(content)->view());
}

/// Files of a backup, and a zood that makes one.
struct Room {
  TemporaryDirectory directory;
  std::string passphrase = (directory.path() / "passphrase").string();
  std::string backup = (directory.path() / "zood.backup").string();
  Zooctl zooctl;
  Room() {
    REQUIRE(file::write(passphrase, "correct horse\n", 0600));
    zooctl.server.on("GET /zoo/v1/backup", {{200, state()}});
  }
};

} // namespace

TEST_CASE("backup create writes a file that verify finds good and show describes") {
  Room room;
  const auto made =
      room.zooctl({"backup", "create", "-o", room.backup, "--passphrase-file", room.passphrase});
  CHECK(made.status == 0);
  CHECK(has(made.err, "1 tenant of revision 7"));
  const auto mode = std::filesystem::status(room.backup).permissions();
  CHECK(mode == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));

  const auto good =
      room.zooctl({"backup", "verify", room.backup, "--passphrase-file", room.passphrase});
  CHECK(good.status == 0);
  CHECK(has(good.out, "is whole and can be restored: 1 tenant"));

  const auto shown = room.zooctl({"backup", "show", room.backup});
  CHECK(has(shown.out, "Encrypted:  yes"));
  const auto record = json::parse(room.zooctl({"backup", "show", room.backup, "-o", "json"}).out);
  CHECK(record["revision"] == 7);
  CHECK(record["records"]["tenant"] == 1);
}

TEST_CASE("backup create wants to know whether it is to encrypt") {
  Room room;
  CHECK(room.zooctl({"backup", "create", "-o", room.backup}).status == 64);
  CHECK(room.zooctl({"backup", "create", "-o", room.backup, "--plain", "--passphrase-file",
                     room.passphrase})
            .status == 64);
  REQUIRE(file::write(room.passphrase, "short\n", 0600));
  CHECK(room.zooctl({"backup", "create", "-o", room.backup, "--passphrase-file", room.passphrase})
            .status == 64);
  CHECK_FALSE(std::filesystem::exists(room.backup));
}

TEST_CASE("backup verify tells another passphrase from damage") {
  Room room;
  REQUIRE(room.zooctl({"backup", "create", "-o", room.backup, "--passphrase-file", room.passphrase})
              .status == 0);
  CHECK(room.zooctl({"backup", "verify", room.backup}).status == 77);
  const auto other = (room.directory.path() / "other").string();
  REQUIRE(file::write(other, "wrong horse\n", 0600));
  CHECK(room.zooctl({"backup", "verify", room.backup, "--passphrase-file", other}).status == 77);

  auto bytes = file::read(room.backup).value();
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  REQUIRE(file::write(room.backup, bytes, 0600));
  const auto damaged =
      room.zooctl({"backup", "verify", room.backup, "--passphrase-file", room.passphrase});
  CHECK(damaged.status == 65);
  CHECK(has(damaged.err, "at byte "));
}

TEST_CASE("backup acknowledge tells zood") {
  Room room;
  room.zooctl.server.on("POST /zoo/v1/backup", {{200, R"({"acknowledged":true})"}});
  CHECK(room.zooctl({"backup", "acknowledge"}).status == 0);
  CHECK(json::parse(room.zooctl.server.asked("POST", "/zoo/v1/backup").body)["acknowledged"] ==
        true);
}

TEST_CASE("a file that is no argument: the options that take one are named") {
  Room room;
  const auto said = room.zooctl({"backup", "create", room.backup});
  CHECK(said.status == 64);
  CHECK(has(said.err, "`zooctl backup create` takes no arguments: what is '" + room.backup +
                          "'? A file is given with -o FILE or --passphrase-file FILE."));
}
