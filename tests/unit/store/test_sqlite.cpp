// SPDX-License-Identifier: Apache-2.0
#include "common/base/file.hpp"
#include "daemon/store/database.hpp"
#include "tests/unit/store/store_fixture.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace zoo;
using namespace zoo::store;
using test::StoreMaker;
namespace fs = std::filesystem;

namespace {

unsigned mode_of(const fs::path& path) {
  struct stat info{};
  REQUIRE(::stat(path.c_str(), &info) == 0);
  return info.st_mode & 0777u;
}

void run_sql(const fs::path& file, const char* sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &handle) == SQLITE_OK);
  REQUIRE(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
}

std::string number(const fs::path& file, const char* sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &handle) == SQLITE_OK);
  std::string out;
  sqlite3_exec(
      handle, sql,
      [](void* to, int, char** columns, char**) {
        *static_cast<std::string*>(to) = columns[0] == nullptr ? "" : columns[0];
        return 0;
      },
      &out, nullptr);
  sqlite3_close(handle);
  return out;
}

/// No file may grow beyond so many bytes, as on a disk that is full there.
class SmallDisk {
public:
  explicit SmallDisk(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, SIG_DFL);
  }

private:
  rlimit before_{};
};

} // namespace

TEST_CASE("every file of the store is private") {
  StoreMaker maker;
  const auto before = ::umask(0);
  const auto store = maker.open();
  ::umask(before);
  REQUIRE(store->put("k", "a", "1"));
  CHECK(mode_of(maker.directory.path() / "zood") == 0700);
  for (const auto& entry : fs::directory_iterator(maker.directory.path() / "zood")) {
    CAPTURE(entry.path().string());
    CHECK(mode_of(entry.path()) == 0600);
  }
}

TEST_CASE("the database is marked as zood's, with every migration named") {
  StoreMaker maker;
  {
    REQUIRE(maker.open()->put("k", "a", "1"));
  }
  const auto file = maker.directory.path() / "zood" / "zood.db";
  CHECK(number(file, "PRAGMA application_id") == std::to_string(0x7a6f6f64));
  CHECK(number(file, "PRAGMA user_version") == "1");
  CHECK(number(file, "PRAGMA journal_mode") == "wal");
  CHECK(number(file, "SELECT name FROM migrations") == "001-records");
  CHECK(number(file, "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND strict = 0 "
                     "AND name NOT LIKE 'sqlite_%'") == "0");
}

TEST_CASE("a second store on the same directory is refused with a sentence") {
  StoreMaker maker;
  const auto first = maker.open();
  const auto second = open_sqlite({maker.directory.path() / "zood", {}, 10});
  REQUIRE_FALSE(second);
  CHECK(second.error().code() == Code::conflict);
  CHECK(second.error().message() ==
        fmt::format("another zood (process {}) already uses the directory {}: stop it, or give "
                    "this one another --dir",
                    ::getpid(), (maker.directory.path() / "zood").string()));
}

TEST_CASE("two directories cannot share one database file") {
  const test::TemporaryDirectory temporary;
  const auto file = temporary.path() / "shared.db";
  const auto first = open_sqlite({temporary.path() / "one", file, 10}).value();
  const auto second = open_sqlite({temporary.path() / "two", file, 10});
  REQUIRE_FALSE(second);
  CHECK(second.error().code() == Code::conflict);
  CHECK(second.error().message().find(file.string()) != std::string::npos);
}

TEST_CASE("a database of a newer zood is refused and left as it is") {
  StoreMaker maker;
  {
    (void)maker.open();
  }
  const auto file = maker.directory.path() / "zood" / "zood.db";
  run_sql(file, "PRAGMA user_version = 99");
  const auto opened = open_sqlite({maker.directory.path() / "zood", {}, 10});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code() == Code::invalid);
  CHECK(opened.error().message().find("newer zood") != std::string::npos);
  CHECK(number(file, "PRAGMA user_version") == "99");
}

TEST_CASE("a schema that changes leaves the state of before beside it, and the way back is told") {
  StoreMaker maker;
  {
    const auto store = maker.open();
    REQUIRE(store->put("tenant", "foofoo", "{}"));
  }
  const auto file = maker.directory.path() / "zood" / "zood.db";
  const auto copy = file.string() + ".schema-1";
  std::vector<store::Migration> later(store::migrations().begin(), store::migrations().end());
  later.push_back({"900-broken", "CREATE TABLE extra (a); CREATE TABLE extra (a);"});
  REQUIRE_FALSE(store::Database::open(file, later));
  CHECK(number(file, "PRAGMA user_version") == "1"); // nothing was changed
  later.back() = {"900-extra", "CREATE TABLE extra (a);"};
  REQUIRE(store::Database::open(file, later));
  CHECK(number(file, "PRAGMA user_version") == "2");
  CHECK(number(copy, "PRAGMA user_version") == "1");
  CHECK(number(copy, "SELECT count(*) FROM records") ==
        number(file, "SELECT count(*) FROM records"));
  CHECK(std::filesystem::status(copy).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));

  const auto older = open_sqlite({maker.directory.path() / "zood", {}, 10});
  REQUIRE_FALSE(older);
  CHECK(older.error().message().find(copy) != std::string::npos);
  // As it says.
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + "-wal");
  std::filesystem::rename(copy, file);
  const auto back = open_sqlite({maker.directory.path() / "zood", {}, 10});
  REQUIRE(back);
  CHECK((*back)->get("tenant", "foofoo"));
}

TEST_CASE("a database of another program is refused and left as it is") {
  const test::TemporaryDirectory temporary;
  const auto file = temporary.path() / "theirs.db";
  run_sql(file, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
  const auto opened = open_sqlite({temporary.path() / "zood", file, 10});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code() == Code::invalid);
  CHECK(opened.error().message().find("another program") != std::string::npos);
  CHECK(number(file, "PRAGMA journal_mode") == "delete");
}

TEST_CASE("what is no database is refused") {
  const test::TemporaryDirectory temporary;
  const auto file = temporary.path() / "zood.db";
  std::ofstream(file) << std::string(5000, 'x');
  const auto opened = open_sqlite({temporary.path(), file, 10});
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code() == Code::invalid);
  CHECK(opened.error().message().find("damaged") != std::string::npos);
}

TEST_CASE("a directory that cannot be made or is none is Code::io") {
  const test::TemporaryDirectory temporary;
  std::ofstream(temporary.path() / "file") << "x";
  for (const auto& directory : {temporary.path() / "file", temporary.path() / "file" / "below",
                                fs::path("/proc/self/zood")}) {
    CAPTURE(directory.string());
    const auto opened = open_sqlite({directory, {}, 10});
    REQUIRE_FALSE(opened);
    CHECK((opened.error().code() == Code::io || opened.error().code() == Code::not_found));
    CHECK(opened.error().message().find(directory.string()) != std::string::npos);
  }
}

TEST_CASE("a full disk is one clear error, and nothing is half-done") {
  StoreMaker maker;
  const auto store = maker.open();
  REQUIRE(store->put("k", "kept", "1"));
  {
    const SmallDisk disk(300'000);
    std::optional<Error> error;
    for (int i = 0; i < 100 && !error; ++i) {
      auto put = store->put("k", fmt::format("big-{}", i), std::string(50'000, 'v'));
      if (!put) error = std::move(put).error();
    }
    REQUIRE(error);
    CHECK(error->code() == Code::io);
    CHECK(error->message().find("nothing was changed") != std::string::npos);
    CHECK(store->get("k", "kept")->value == "1");
    const auto revision = store->revision().value();
    CHECK(static_cast<std::size_t>(revision) == store->list("k")->records.size());
  }
  const auto before = store->revision().value();
  CHECK(store->put("k", "after", "2")->revision == before + 1);
}

TEST_CASE("a migration that does not fit on the disk leaves no half of itself") {
  const test::TemporaryDirectory temporary;
  const auto directory = temporary.path() / "zood";
  {
    const SmallDisk disk(6'000);
    const auto opened = open_sqlite({directory, {}, 10});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code() == Code::io);
  }
  const auto store = open_sqlite({directory, {}, 10}).value();
  CHECK(store->put("k", "a", "1")->revision == 1);
}

TEST_CASE("history that is no longer kept is Expired, and the edge of it is not") {
  StoreMaker maker;
  const auto store = maker.open(5);
  for (int i = 1; i <= 20; ++i)
    REQUIRE(store->put("k", "a", "x"));
  const auto from = [&](std::int64_t revision) {
    return store->watch("k", revision, [](const Change&) {});
  };
  CHECK(from(14).error().code() == Code::expired);
  CHECK(from(14).error().message().find("list again") != std::string::npos);
  CHECK(from(0).error().code() == Code::expired);
  CHECK(from(15));
  CHECK(from(20));
  CHECK(from(21).error().code() == Code::expired);
  CHECK(from(-1).error().code() == Code::expired);
}

TEST_CASE("a new store is at revision 0, and counts its writes") {
  test::StoreMaker maker;
  const auto store = maker.open();
  CHECK(store->revision().value() == 0);
  CHECK(store->put("k", "a", "")->revision == 1);
  const std::vector<Op> both{{"k", "a", "", 1}, {"k", "b", "", 0}};
  CHECK(store->write(both).value() == 3);
}
