// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace zoo::store {

struct SqliteOptions {
  std::filesystem::path directory; ///< of zood: holds zood.lock; made with mode 0700 if missing
  std::filesystem::path file;      ///< empty: <directory>/zood.db
  std::int64_t history = 5'000;    ///< how many of the latest changes are kept for watches
  bool locked = false;             ///< the caller holds the lock of the directory
};

/// Opens (and makes, and migrates) the embedded store: WAL, synchronous=FULL, 0600 from the first
/// byte. One mutex around one connection; writes that come while another is on its way to the disk
/// share the next transaction; one thread of its own delivers to the watches.
///
/// Code::conflict: another zood holds the directory (the message names it and its process).
/// Code::io: cannot read or write. Code::invalid: the file is not zood's, is damaged, or was
/// written by a newer zood.
Result<std::unique_ptr<Store>> open_sqlite(SqliteOptions options);

} // namespace zoo::store
