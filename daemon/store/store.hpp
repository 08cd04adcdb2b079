// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// zood's own state behind one interface (DESIGN 10). SQLite (sqlite.hpp) is the embedded one, etcd
/// (etcd/etcd.hpp) the one of several hosts; the conformance tests in tests/unit/store run on both.
namespace zoo::store {

struct Record {
  std::string kind, key;
  std::string value;         ///< bytes of the owner's, JSON by habit
  std::int64_t revision = 0; ///< of the last write: one counter for the whole store, above 0
  std::int64_t created_revision = 0; ///< of the write that made it
};

struct Change {
  enum class Type { put, removed };
  Type type = Type::put;
  /// After a put: the record. After a removal: its last value, with the revision of the removal;
  /// the value is empty where the removal was found out by comparing (etcd, after a compaction).
  Record record;
  bool created = false; ///< a put of what was not there before
};

struct Page {
  std::vector<Record> records; ///< by key, in byte order
  bool more = false;           ///< ask again with after_key = the last record's key
  std::int64_t revision = 0;   ///< of the store at the moment of reading: watch from here
};

/// Everything in a store at one moment.
struct Snapshot {
  std::vector<Record> records; ///< by kind and key, in byte order
  std::int64_t revision = 0;   ///< of the store
};

/// One of several writes that are done together. What it views is its caller's.
struct Op {
  std::string_view kind, key, value;
  std::optional<std::int64_t> expected = {}; ///< as for Store::put
  bool removal = false;                      ///< then `value` is ignored
};

/// A write is done only if that record has this revision (0: does not exist).
struct Guard {
  std::string_view kind, key;
  std::int64_t revision = 0;
};

/// Who wrote it still has the leadership that he had: a key of the session's, and the revision by
/// which it was made (session.hpp). Means nothing to a store that one zood alone has open.
struct Fence {
  std::string key;
  std::int64_t created = 0;
};

class Session;  // session.hpp
struct Replica; // session.hpp

/// One of the servers that a store is kept by, as it tells of itself.
struct Member {
  std::string url;
  std::string trouble; ///< why it has told nothing; "": it has
  std::string version;
  bool has_leader = false;        ///< it knows who leads them: it takes writes
  std::int64_t bytes = 0;         ///< of its file
  std::int64_t quota = 0;         ///< that its file may have; 0: it does not say
  std::vector<std::string> wrong; ///< alarms, in its own words
};

struct Limits {
  std::size_t value = 0; ///< bytes of a record's value
  std::size_t ops = 0;   ///< of one write()
};

/// A running watch. Destroying it ends the watch and waits for a callback in progress (unless it
/// is destroyed inside that callback); none comes afterwards. Must not outlive the store.
class Subscription {
public:
  Subscription() = default;
  explicit Subscription(std::function<void()> cancel) : cancel_(std::move(cancel)) {}
  Subscription(Subscription&& other) noexcept : cancel_(std::exchange(other.cancel_, nullptr)) {}
  Subscription& operator=(Subscription&& other) noexcept {
    if (this != &other) {
      reset();
      cancel_ = std::exchange(other.cancel_, nullptr);
    }
    return *this;
  }
  ~Subscription() { reset(); }
  void reset() {
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
  }
  explicit operator bool() const { return static_cast<bool>(cancel_); }

private:
  std::function<void()> cancel_;
};

/// Typed records with compare-and-set, lists and watches. Any thread may call; calls block for the
/// disk (never call from an event loop). What put() and remove() have acknowledged survives
/// kill -9 and power loss.
///
/// Errors of every call: Code::io (disk full, read-only, damaged: the message says what to do;
/// nothing is half-done), Code::unavailable (the store cannot be reached; after a write, the
/// message says that it may have been done), Code::internal (a bug).
class Store {
public:
  virtual ~Store() = default;

  /// Code::not_found.
  virtual Result<Record> get(std::string_view kind, std::string_view key) = 0;

  /// Writes; `expected_revision`: nothing = whatever is there, 0 = must not exist
  /// (Code::already_exists), else the revision it must have (Code::conflict; Code::not_found if it
  /// is gone). A kind is 1..64 and a key 1..512 characters without control characters
  /// (Code::invalid); a value at most limits().value bytes (Code::too_large). Returns the record as
  /// stored.
  virtual Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                             std::optional<std::int64_t> expected_revision = {}) = 0;

  /// Code::not_found, Code::conflict. Returns the revision of the removal.
  virtual Result<std::int64_t> remove(std::string_view kind, std::string_view key,
                                      std::optional<std::int64_t> expected_revision = {}) = 0;

  /// All of these or none, in one commit; each as put() or remove() would do it, of different
  /// records. Code::conflict also where a guard or the fence does not hold. Returns the revision of
  /// the last of them.
  virtual Result<std::int64_t> write(std::span<const Op> ops, std::span<const Guard> guards = {},
                                     const std::optional<Fence>& fence = {}) = 0;

  virtual Limits limits() const = 0;

  /// Records of the kind whose key begins with `prefix` and is greater than `after_key`; at most
  /// `limit` (0: all). One consistent moment a page.
  virtual Result<Page> list(std::string_view kind, std::string_view prefix = {},
                            std::string_view after_key = {}, std::size_t limit = 0) = 0;

  /// The latest revision; 0 for a store that was never written to.
  virtual Result<std::int64_t> revision() = 0;

  /// All records at one moment. Writes wait meanwhile: a third of a second for 100 MB.
  virtual Result<Snapshot> snapshot() = 0;

  /// Takes up what a snapshot holds, all or nothing, into a store that was never written to
  /// (Code::conflict). Afterwards no revision is above the store's, which is the snapshot's or a
  /// higher one, and to watch from one before the snapshot's is Code::expired.
  virtual Result<void> load(const Snapshot& from) = 0;

  /// Every change of the kind after `from_revision`, in order of revision, without gaps, each after
  /// it is durable, on a thread of the store. The callback must be quick and not throw; it may
  /// call the store. Code::expired if changes after from_revision are no longer kept, or the store
  /// has never been there (it was restored from an older copy): list again.
  virtual Result<Subscription> watch(std::string_view kind, std::int64_t from_revision,
                                     std::function<void(const Change&)> on_change) = 0;

  /// Tells the others that have this store open of this zood, and takes part in who leads. The
  /// session does not outlive the store; one a store. Code::unavailable; Code::conflict: another
  /// zood of that name has the store open.
  virtual Result<std::unique_ptr<Session>> join(Replica self) = 0;

  /// How long ago it was known for the last time that watches have told everything: some seconds
  /// while all is well, the length of the outage while the store cannot be reached.
  virtual std::chrono::milliseconds stale() const { return std::chrono::milliseconds(0); }

  /// The servers that this store is kept by, asked one after the other, two seconds each at most;
  /// none where it is a file of this machine.
  virtual std::vector<Member> members() { return {}; }
};

} // namespace zoo::store
