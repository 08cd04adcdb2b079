// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

/// The thin layer over SQLite: for sqlite.cpp only. One thread at a time.
namespace zoo::store {

struct Migration {
  std::string_view name, sql;
};

/// In the order they are applied. Generated from migrations/*.sql.
std::span<const Migration> migrations();

/// One use of a prepared statement: bind in order, step, read. Resets itself.
class Statement {
public:
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  Statement& text(std::string_view value); ///< must outlive the use
  Statement& blob(std::string_view value);
  Statement& integer(std::int64_t value);

  Result<bool> step(); ///< true: a row is there
  std::string column_bytes(int column) const;
  std::int64_t column_integer(int column) const;

private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

/// A connection, exclusively ours while it is open: whoever comes second is refused.
class Database {
public:
  /// Opens or makes the file, checks that it is ours and sound, and migrates it.
  static Result<Database> open(const std::filesystem::path& file,
                               std::span<const Migration> known = migrations());

  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();

  Result<void> run(const std::string& sql); ///< statements without results
  Result<sqlite3_stmt*> prepare(std::string_view sql);

private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
  };
  Database() = default;
  Result<void> configure();
  Result<void> check_owner();
  Result<void> migrate();
  Result<void> keep_copy(std::int64_t schema);
  std::string copy_of(std::int64_t schema) const; ///< the file that keep_copy() makes
  Result<std::int64_t> number(const std::string& sql);
  Error error(std::string_view what) const;

  std::string file_;
  std::span<const Migration> known_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// BEGIN IMMEDIATE now; ROLLBACK on destruction unless committed.
class Transaction {
public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> commit();

private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

} // namespace zoo::store
