// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/store/store.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

/// Moving all records from one store into another, of whichever drivers. What is between the two
/// is said by a record in each: kind "store", key "arriving" in the new one until a zood starts on
/// it, key "moved" in the old one from when the new one was found to be whole.
namespace zoo::store {

struct Moved {
  std::size_t records = 0, bytes = 0;
  std::int64_t revision = 0; ///< of the new store: above every one that the old one had
  std::string digest;        ///< SHA-256 in hex of kinds, keys and values, in order
};

/// Copies and compares, with no write into `from` meanwhile (its caller's to see to). `to` must be
/// empty (Code::conflict). A failure leaves `from` as it is, and `to` for may_clear().
/// Code::too_large: a record that `to` would not take; Code::io or internal where what was read
/// back differs.
Result<Moved> copy_store(Store& from, Store& to);

/// What copy_store() would move, and whether `to` would take each of it.
Result<Moved> weigh_store(Store& from, const Limits& to);

/// In `from`, after copy_store(): from now on no zood starts on it.
Result<void> mark_moved(Store& from, std::string_view to);

/// For a zood that starts: Code::usage if the store has moved, with where it went; Code::conflict
/// if a migration into it did not come to its end. Else takes it into use.
Result<void> take_into_use(Store& store);

/// Whether what a store holds is needed no more: a migration left it unfinished, no zood has
/// started on it since it was filled, or it has moved.
Result<bool> may_clear(Store& store);

} // namespace zoo::store
