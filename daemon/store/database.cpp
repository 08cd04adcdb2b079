// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/database.hpp"

#include "common/base/file.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace zoo::store {
namespace {

constexpr std::int64_t k_application_id = 0x7a6f6f64; // "zood"

Error error_of(sqlite3* handle, std::string_view what, std::string_view file) {
  const int code = handle != nullptr ? sqlite3_extended_errcode(handle) : SQLITE_NOMEM;
  const std::string reason = handle != nullptr ? sqlite3_errmsg(handle) : "out of memory";
  const int number = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  const auto detail = number != 0 ? fmt::format("{}: {}", reason, std::strerror(number)) : reason;
  switch (code & 0xff) {
  case SQLITE_FULL:
    return Error(Code::io, fmt::format("cannot {} {}: the disk is full; nothing was changed: make "
                                       "room and try again",
                                       what, file));
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_AUTH:
    return Error(Code::io, fmt::format("cannot {} {}: {}; zood must be able to write the file and "
                                       "its directory",
                                       what, file, detail));
  case SQLITE_IOERR:
    return Error(Code::io, fmt::format("cannot {} {}: {}; nothing was changed: check the disk and "
                                       "its free space",
                                       what, file, detail));
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return Error(Code::conflict,
                 fmt::format("{} is in use by another process: stop it first", file));
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return Error(Code::invalid,
                 fmt::format("{} is damaged or not a database ({}): restore it from a backup", file,
                             reason));
  default:
    return Error(Code::internal, fmt::format("cannot {} {}: {}", what, file, detail));
  }
}

/// 0600 from its first byte; SQLite gives -wal the same mode.
Result<void> make_file(const std::filesystem::path& file) {
  const file::Fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd || errno == EEXIST) return {};
  return fail(Code::io, "cannot make {}: {}", file.string(), std::strerror(errno));
}

} // namespace

Statement::~Statement() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Statement& Statement::text(std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  sqlite3_bind_text64(statement_, ++bound_, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::blob(std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  sqlite3_bind_blob64(statement_, ++bound_, data, value.size(), SQLITE_STATIC);
  return *this;
}

Statement& Statement::integer(std::int64_t value) {
  sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  auto* handle = sqlite3_db_handle(statement_);
  const bool reads = sqlite3_stmt_readonly(statement_) != 0;
  return fail(error_of(handle, reads ? "read" : "write", sqlite3_db_filename(handle, "main")));
}

std::string Statement::column_bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

std::int64_t Statement::column_integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

void Database::Close::operator()(sqlite3* handle) const noexcept {
  // Statements that are still prepared go with it.
  while (auto* statement = sqlite3_next_stmt(handle, nullptr))
    sqlite3_finalize(statement);
  sqlite3_close(handle);
}

Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Error Database::error(std::string_view what) const { return error_of(handle_.get(), what, file_); }

Result<Database> Database::open(const std::filesystem::path& file,
                                std::span<const Migration> known) {
  ZOO_TRY_VOID(make_file(file));
  Database out;
  out.file_ = file.string();
  out.known_ = known;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(file.c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, nullptr);
  out.handle_.reset(handle);
  if (code != SQLITE_OK) return fail(out.error("open"));
  sqlite3_extended_result_codes(handle, 1);
  // One look at the file before anything of ours is written to it.
  ZOO_TRY_VOID(out.run("PRAGMA locking_mode = EXCLUSIVE"));
  ZOO_TRY_VOID(out.check_owner());
  ZOO_TRY_VOID(out.configure());
  ZOO_TRY_VOID(out.migrate());
  return out;
}

Result<void> Database::check_owner() {
  ZOO_TRY(const auto owner, number("PRAGMA application_id"));
  ZOO_TRY(const auto tables, number("SELECT count(*) FROM sqlite_schema"));
  if (owner != k_application_id && (owner != 0 || tables != 0)) {
    return fail(Code::invalid, "{} is a database of another program: give another store.path",
                file_);
  }
  ZOO_TRY(const auto version, number("PRAGMA user_version"));
  const auto known = static_cast<std::int64_t>(known_.size());
  if (version > known) {
    const auto before = copy_of(known);
    const auto way_back =
        std::filesystem::exists(before)
            ? fmt::format("stop, and put {}, its state before it was changed, in its place", before)
            : std::string("restore an older backup");
    return fail(Code::invalid,
                "{} was written by a newer zood (schema {}, this one knows {}): "
                "install that zood again, or {}",
                file_, version, known, way_back);
  }
  return {};
}

Result<void> Database::configure() {
  ZOO_TRY_VOID(run("PRAGMA journal_mode = WAL"));
  ZOO_TRY_VOID(run("PRAGMA synchronous = FULL"));
  ZOO_TRY_VOID(run("PRAGMA foreign_keys = ON"));
  ZOO_TRY_VOID(run("PRAGMA trusted_schema = OFF"));
  ZOO_TRY(auto* check, prepare("PRAGMA quick_check(1)"));
  Statement statement(check);
  ZOO_TRY(const bool row, statement.step());
  if (row && statement.column_bytes(0) != "ok") {
    return fail(Code::invalid, "{} is damaged ({}): restore it from a backup", file_,
                statement.column_bytes(0));
  }
  return {};
}

std::string Database::copy_of(std::int64_t schema) const {
  return fmt::format("{}.schema-{}", file_, schema);
}

/// The way back: a newer schema is nothing that an older zood reads. Without room for the copy
/// nothing is changed.
Result<void> Database::keep_copy(std::int64_t schema) {
  const auto copy = copy_of(schema);
  std::error_code ignored;
  std::filesystem::remove(copy, ignored); // of an attempt before
  ZOO_TRY_VOID(make_file(copy));          // which VACUUM fills
  ZOO_TRY(auto* prepared, prepare("VACUUM INTO ?"));
  Statement statement(prepared);
  const auto done = statement.text(copy).step();
  if (done) return {};
  std::filesystem::remove(copy, ignored);
  auto error = done.error();
  return fail(std::move(error).context("copying {} before its schema is changed", file_));
}

Result<void> Database::migrate() {
  ZOO_TRY(const auto version, number("PRAGMA user_version"));
  const auto known = static_cast<std::int64_t>(known_.size());
  if (version > 0 && version < known) ZOO_TRY_VOID(keep_copy(version));
  for (auto i = static_cast<std::size_t>(version); i < known_.size(); ++i) {
    const auto& migration = known_[i];
    ZOO_TRY(auto transaction, Transaction::begin(*this));
    if (i == 0) {
      ZOO_TRY_VOID(run(fmt::format("PRAGMA application_id = {}", k_application_id)));
      ZOO_TRY_VOID(run("CREATE TABLE migrations (name TEXT NOT NULL PRIMARY KEY, "
                       "applied_at TEXT NOT NULL) STRICT"));
    }
    if (auto applied = run(std::string(migration.sql)); !applied) {
      return fail(std::move(applied).error().context("while applying {}", migration.name));
    }
    ZOO_TRY_VOID(run(fmt::format("INSERT INTO migrations VALUES ('{}', "
                                 "strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
                                 migration.name)));
    ZOO_TRY_VOID(run(fmt::format("PRAGMA user_version = {}", i + 1)));
    ZOO_TRY_VOID(transaction.commit());
  }
  return {};
}

Result<void> Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return fail(error("write"));
  }
  return {};
}

Result<sqlite3_stmt*> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return fail(error("read"));
  }
  return statement;
}

Result<std::int64_t> Database::number(const std::string& sql) {
  ZOO_TRY(auto* prepared, prepare(sql));
  std::int64_t value = 0;
  {
    Statement statement(prepared);
    const auto row = statement.step();
    if (!row) {
      auto failure = row.error();
      return fail(std::move(failure));
    }
    if (*row) value = statement.column_integer(0);
  }
  sqlite3_finalize(prepared);
  return value;
}

Result<Transaction> Transaction::begin(Database& database) {
  ZOO_TRY_VOID(database.run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  // Fails where SQLite has rolled back by itself (disk full): nothing is left to do then.
  if (database_ != nullptr) (void)database_->run("ROLLBACK");
}

Result<void> Transaction::commit() {
  ZOO_TRY_VOID(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}

} // namespace zoo::store
