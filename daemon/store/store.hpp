// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// zood's own state behind one interface (DESIGN 10). SQLite (sqlite.hpp) is the embedded one; the
/// conformance tests in tests/unit/store run on every implementation.
namespace zoo::store {

struct Record {
  std::string kind, key;
  std::string value;                 ///< bytes of the owner's, JSON by habit
  std::int64_t revision = 0;         ///< of the last write: one counter for the whole store, from 1
  std::int64_t created_revision = 0; ///< of the write that made it
};

struct Change {
  enum class Type { put, removed };
  Type type = Type::put;
  /// After a put: the record. After a removal: its last value, with the revision of the removal.
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
/// nothing is half-done), Code::internal (a bug).
class Store {
public:
  virtual ~Store() = default;

  /// Code::not_found.
  virtual Result<Record> get(std::string_view kind, std::string_view key) = 0;

  /// Writes; `expected_revision`: nothing = whatever is there, 0 = must not exist
  /// (Code::already_exists), else the revision it must have (Code::conflict; Code::not_found if it
  /// is gone). A kind is 1..64 and a key 1..512 characters without control characters
  /// (Code::invalid); a value at most 8 MiB (Code::too_large). Returns the record as stored.
  virtual Result<Record> put(std::string_view kind, std::string_view key, std::string_view value,
                             std::optional<std::int64_t> expected_revision = {}) = 0;

  /// Code::not_found, Code::conflict.
  virtual Result<void> remove(std::string_view kind, std::string_view key,
                              std::optional<std::int64_t> expected_revision = {}) = 0;

  /// Records of the kind whose key begins with `prefix` and is greater than `after_key`; at most
  /// `limit` (0: all). One consistent moment a page.
  virtual Result<Page> list(std::string_view kind, std::string_view prefix = {},
                            std::string_view after_key = {}, std::size_t limit = 0) = 0;

  /// The latest revision; 0 for a store that was never written to.
  virtual Result<std::int64_t> revision() = 0;

  /// All records at one moment. Writes wait meanwhile: a third of a second for 100 MB.
  virtual Result<Snapshot> snapshot() = 0;

  /// Takes up what a snapshot holds, all or nothing, into a store that was never written to
  /// (Code::conflict). The records keep their revisions; the store's is the snapshot's, and to
  /// watch from an earlier one is Code::expired.
  virtual Result<void> load(const Snapshot& from) = 0;

  /// Every change of the kind after `from_revision`, in order of revision, without gaps, each after
  /// it is durable, on a thread of the store. The callback must be quick and not throw; it may
  /// call the store. Code::expired if changes after from_revision are no longer kept, or the store
  /// has never been there (it was restored from an older copy): list again.
  virtual Result<Subscription> watch(std::string_view kind, std::int64_t from_revision,
                                     std::function<void(const Change&)> on_change) = 0;
};

} // namespace zoo::store
