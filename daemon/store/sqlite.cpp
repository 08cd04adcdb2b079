// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/sqlite.hpp"

#include "daemon/store/database.hpp"
#include "daemon/store/lock.hpp"
#include "daemon/store/ops.hpp"
#include "daemon/store/session.hpp"
#include "daemon/store/watchers.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace zoo::store {
namespace {

constexpr Limits k_limits{8u << 20, 100};

enum Action : std::int64_t { created = 0, changed = 1, removed = 2 };

Change change_of(const Statement& row, std::string_view kind) {
  Change out;
  out.record.revision = row.column_integer(0);
  out.record.kind = kind;
  out.record.key = row.column_bytes(1);
  const auto action = row.column_integer(2);
  out.type = action == Action::removed ? Change::Type::removed : Change::Type::put;
  out.created = action == Action::created;
  out.record.value = row.column_bytes(3);
  out.record.created_revision = row.column_integer(4);
  return out;
}

class SqliteStore : public Store {
public:
  SqliteStore(std::optional<DirectoryLock> lock, Database database, std::int64_t history)
      : lock_(std::move(lock)), database_(std::move(database)),
        history_(std::max<std::int64_t>(1, history)), watchers_(std::make_shared<Watchers>()) {}

  Result<void> prepare() {
    const auto make = [this](sqlite3_stmt*& statement, std::string_view sql) -> Result<void> {
      ZOO_TRY(statement, database_.prepare(sql));
      return {};
    };
    ZOO_TRY_VOID(make(get_, "SELECT value, revision, created_revision FROM records "
                            "WHERE kind = ? AND key = ?"));
    ZOO_TRY_VOID(make(put_, "INSERT INTO records (kind, key, value, revision, created_revision) "
                            "VALUES (?, ?, ?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET "
                            "value = excluded.value, revision = excluded.revision"));
    ZOO_TRY_VOID(make(remove_, "DELETE FROM records WHERE kind = ? AND key = ?"));
    // One lower bound each: SQLite begins at one alone, and reads on from there.
    ZOO_TRY_VOID(make(list_from_, "SELECT key, value, revision, created_revision FROM records "
                                  "WHERE kind = ? AND key >= ? ORDER BY key LIMIT ?"));
    ZOO_TRY_VOID(make(list_behind_, "SELECT key, value, revision, created_revision FROM records "
                                    "WHERE kind = ? AND key > ? ORDER BY key LIMIT ?"));
    ZOO_TRY_VOID(make(all_, "SELECT kind, key, value, revision, created_revision FROM records "
                            "ORDER BY kind, key"));
    ZOO_TRY_VOID(make(record_change_,
                      "INSERT INTO changes (revision, kind, key, action, value, created_revision) "
                      "VALUES (?, ?, ?, ?, ?, ?)"));
    ZOO_TRY_VOID(make(forget_, "DELETE FROM changes WHERE revision <= ?"));
    ZOO_TRY_VOID(make(range_, "SELECT (SELECT max(revision) FROM changes), "
                              "(SELECT min(revision) FROM changes)"));
    return make(since_, "SELECT revision, key, action, value, created_revision FROM changes "
                        "WHERE kind = ? AND revision > ? ORDER BY revision");
  }

  Result<Record> get(std::string_view kind, std::string_view key) override {
    const std::lock_guard lock(mutex_);
    ZOO_TRY(auto found, find(kind, key));
    if (!found) return no_such_record(kind, key);
    return *std::move(found);
  }

  Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                     std::optional<std::int64_t> expected) override {
    const Op op{kind, key, value, expected, false};
    ZOO_TRY_VOID(check_ops({&op, 1}, k_limits));
    return submit({{&op, 1}, {}});
  }

  Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected) override {
    const Op op{kind, key, {}, expected, true};
    ZOO_TRY(const auto record, submit({{&op, 1}, {}}));
    return record.revision;
  }

  Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards,
                             const std::optional<Fence>& /*fence: nobody else writes*/) override {
    ZOO_TRY_VOID(check_ops(ops, k_limits));
    ZOO_TRY(const auto record, submit({ops, guards}));
    return record.revision;
  }

  Limits limits() const override { return k_limits; }

  Result<std::unique_ptr<Session>> join(Replica self) override {
    return std::make_unique<LocalSession>(std::move(self));
  }

  Result<Page> list(std::string_view kind, std::string_view prefix, std::string_view after_key,
                    std::size_t limit) override {
    const std::lock_guard lock(mutex_);
    Page page;
    ZOO_TRY(const auto range, revisions());
    page.revision = range.last;
    const auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max() - 1);
    const bool behind = !after_key.empty() && after_key >= prefix;
    Statement statement(behind ? list_behind_ : list_from_);
    statement.text(kind).text(behind ? after_key : prefix);
    statement.integer(limit == 0 ? -1 : static_cast<std::int64_t>(std::min(limit, most)) + 1);
    for (;;) {
      ZOO_TRY(const bool row, statement.step());
      if (!row) return page;
      auto key = statement.column_bytes(0);
      if (!key.starts_with(prefix)) return page; // keys of one prefix stand together
      if (limit != 0 && page.records.size() == limit) {
        page.more = true;
        return page;
      }
      page.records.push_back({std::string(kind), std::move(key), statement.column_bytes(1),
                              statement.column_integer(2), statement.column_integer(3)});
    }
  }

  Result<std::int64_t> revision() override {
    const std::lock_guard lock(mutex_);
    ZOO_TRY(const auto range, revisions());
    return range.last;
  }

  Result<Snapshot> snapshot() override {
    const std::lock_guard lock(mutex_);
    Snapshot out;
    ZOO_TRY(const auto range, revisions());
    out.revision = range.last;
    Statement statement(all_);
    for (;;) {
      ZOO_TRY(const bool row, statement.step());
      if (!row) return out;
      out.records.push_back({statement.column_bytes(0), statement.column_bytes(1),
                             statement.column_bytes(2), statement.column_integer(3),
                             statement.column_integer(4)});
    }
  }

  Result<void> load(const Snapshot& from) override {
    const std::lock_guard lock(mutex_);
    ZOO_TRY(auto transaction, Transaction::begin(database_));
    ZOO_TRY(const auto range, revisions());
    if (range.last != 0)
      return fail(Code::conflict, "the store is not empty: it is at revision {}", range.last);
    for (const auto& record : from.records) {
      ZOO_TRY_VOID(check_record_name(record.kind, record.key));
      Statement statement(put_);
      statement.text(record.kind).text(record.key).blob(record.value);
      statement.integer(record.revision).integer(record.created_revision);
      if (auto done = statement.step(); !done) return fail(std::move(done).error());
    }
    {
      // The last line of the history has the store's revision; nobody watches this kind.
      Statement statement(record_change_);
      statement.integer(from.revision).text("store").text("loaded").integer(Action::removed);
      statement.blob("").integer(from.revision);
      if (auto done = statement.step(); !done) return fail(std::move(done).error());
    }
    return transaction.commit();
  }

  Result<Subscription> watch(std::string_view kind, std::int64_t from,
                             std::function<void(const Change&)> on_change) override {
    const std::lock_guard lock(mutex_);
    ZOO_TRY(const auto range, revisions());
    if (from < 0 || from > range.last || from < range.first - 1) {
      return fail(Code::expired,
                  "changes of {} after revision {} are not kept (kept: {} to {}): list again", kind,
                  from, range.first, range.last);
    }
    std::deque<std::shared_ptr<const Change>> backlog;
    Statement statement(since_);
    statement.text(kind).integer(from);
    for (;;) {
      ZOO_TRY(const bool row, statement.step());
      if (!row) break;
      backlog.push_back(std::make_shared<Change>(change_of(statement, kind)));
    }
    // Still under the lock: no change can come between the backlog and what is published.
    return watchers_->add(std::string(kind), std::move(backlog), std::move(on_change));
  }

private:
  /// What is done together or not at all; what it views is its caller's, who waits.
  struct Write {
    std::span<const Op> ops; ///< at least one, of different records
    std::span<const Guard> guards;
    Result<Record> outcome = fail(Code::internal, "not written"); ///< the last of them
    bool over = false;                                            ///< under queue_mutex_
  };
  using Batch = std::vector<Write*>;

  struct Revisions {
    std::int64_t last = 0, first = 0; ///< of the kept changes; 0: none
  };

  /// Writes that wait at the same time share a transaction, and with it the wait for the disk: the
  /// first of them commits for all.
  Result<Record> submit(Write write) {
    std::unique_lock lock(queue_mutex_);
    waiting_.push_back(&write);
    batch_over_.wait(lock, [&] { return write.over || !leading_; });
    if (write.over) return std::move(write.outcome);
    leading_ = true;
    const auto batch = std::exchange(waiting_, {});
    lock.unlock();
    commit(batch);
    lock.lock();
    leading_ = false;
    for (auto* each : batch)
      each->over = true;
    batch_over_.notify_all();
    return std::move(write.outcome);
  }

  void commit(const Batch& batch) {
    const std::lock_guard lock(mutex_);
    const auto done = try_batch(batch);
    if (done) return;
    // One that cannot be written must not keep the others.
    for (auto* each : batch) {
      const auto alone = batch.size() == 1 ? done : try_batch({each});
      if (!alone) each->outcome = fail(alone.error());
    }
  }

  /// All of them or none; a write whose precondition does not hold fails alone. Tells the watches
  /// after the commit, in order.
  Result<void> try_batch(const Batch& batch) {
    ZOO_TRY(auto transaction, Transaction::begin(database_));
    ZOO_TRY(const auto range, revisions());
    std::vector<std::pair<Write*, Change>> changes;
    for (auto* each : batch) {
      ZOO_TRY(auto found, check(*each));
      if (!found) continue;
      for (std::size_t i = 0; i < each->ops.size(); ++i) {
        const auto revision = range.last + 1 + static_cast<std::int64_t>(changes.size());
        ZOO_TRY(auto change, write_one(each->ops[i], std::move((*found)[i]), revision));
        changes.emplace_back(each, std::move(change));
      }
    }
    if (changes.empty()) return {};
    {
      Statement statement(forget_);
      statement.integer(changes.back().second.record.revision - history_);
      if (auto done = statement.step(); !done) return fail(std::move(done).error());
    }
    ZOO_TRY_VOID(transaction.commit());
    for (auto& [write, change] : changes) {
      const auto published = std::make_shared<const Change>(std::move(change));
      watchers_->publish(published);
      write->outcome = published->record;
    }
    return {};
  }

  /// What is there of the records that are to be written; nothing, and the outcome is set, if a
  /// precondition does not hold.
  Result<std::optional<std::vector<std::optional<Record>>>> check(Write& write) {
    const auto revision_of = [](const std::optional<Record>& record) {
      return record ? std::optional(record->revision) : std::nullopt;
    };
    std::vector<std::optional<Record>> out;
    Result<void> good;
    for (const auto& guard : write.guards) {
      ZOO_TRY(const auto found, find(guard.kind, guard.key));
      if (good) good = check_guard(guard, revision_of(found));
    }
    for (const auto& op : write.ops) {
      ZOO_TRY(auto found, find(op.kind, op.key));
      if (good) good = check_expected(op, revision_of(found));
      out.push_back(std::move(found));
    }
    if (good) return out;
    write.outcome = fail(std::move(good).error());
    return std::nullopt;
  }

  Result<std::optional<Record>> find(std::string_view kind, std::string_view key) {
    Statement statement(get_);
    statement.text(kind).text(key);
    ZOO_TRY(const bool row, statement.step());
    if (!row) return std::nullopt;
    return Record{std::string(kind), std::string(key), statement.column_bytes(0),
                  statement.column_integer(1), statement.column_integer(2)};
  }

  Result<Revisions> revisions() {
    Statement statement(range_);
    ZOO_TRY(const bool row, statement.step());
    if (!row) return Revisions{};
    return Revisions{statement.column_integer(0), statement.column_integer(1)};
  }

  /// The record and its line in the history.
  Result<Change> write_one(const Op& write, std::optional<Record> found, std::int64_t revision) {
    Change change;
    if (write.removal) {
      change = {Change::Type::removed, *std::move(found), false};
      change.record.revision = revision;
      Statement statement(remove_);
      statement.text(write.kind).text(write.key);
      if (auto done = statement.step(); !done) return fail(std::move(done).error());
    } else {
      change.created = !found;
      change.record = {std::string(write.kind), std::string(write.key), std::string(write.value),
                       revision, found ? found->created_revision : revision};
      Statement statement(put_);
      statement.text(write.kind).text(write.key).blob(write.value);
      statement.integer(revision).integer(change.record.created_revision);
      if (auto done = statement.step(); !done) return fail(std::move(done).error());
    }
    const auto& record = change.record;
    const auto action = write.removal    ? Action::removed
                        : change.created ? Action::created
                                         : Action::changed;
    Statement statement(record_change_);
    statement.integer(revision).text(record.kind).text(record.key).integer(action);
    statement.blob(record.value).integer(record.created_revision);
    if (auto done = statement.step(); !done) return fail(std::move(done).error());
    return change;
  }

  std::optional<DirectoryLock> lock_; // released last
  std::mutex queue_mutex_;            ///< before mutex_, never inside it
  std::condition_variable batch_over_;
  Batch waiting_;
  bool leading_ = false;
  std::mutex mutex_;
  Database database_;
  const std::int64_t history_;
  sqlite3_stmt *get_ = nullptr, *put_ = nullptr, *remove_ = nullptr, *list_from_ = nullptr,
               *list_behind_ = nullptr, *all_ = nullptr, *record_change_ = nullptr,
               *forget_ = nullptr, *range_ = nullptr, *since_ = nullptr;
  std::shared_ptr<Watchers> watchers_; // stopped first: its callbacks may call the store
};

} // namespace

Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options) {
  std::optional<DirectoryLock> lock;
  if (!options.locked) {
    ZOO_TRY(auto taken, DirectoryLock::acquire(options.directory));
    lock.emplace(std::move(taken));
  }
  if (options.file.empty()) options.file = options.directory / "zood.db";
  ZOO_TRY(auto database, Database::open(options.file));
  auto store = std::make_unique<SqliteStore>(std::move(lock), std::move(database), options.history);
  ZOO_TRY_VOID(store->prepare());
  return std::unique_ptr<Store>(std::move(store));
}

} // namespace zoo::store
