// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace zoo::authz {

/// Which pieces of shared tables their writer has made since it gave the last copy away: those are
/// its own, and may be changed in place. All others may be read by any thread, and are replaced by
/// a piece of this edition.
using Edition = std::uint64_t;

/// `piece`, which `edition` may change: itself, or a copy in its place. Null: a new one. A piece
/// has a member `edition`.
template <typename Piece>
Piece& writable(std::shared_ptr<Piece>& piece, Edition edition) {
  if (!piece) {
    piece = std::make_shared<Piece>();
  } else if (piece->edition != edition) {
    piece = std::make_shared<Piece>(*piece);
  }
  piece->edition = edition;
  return *piece;
}

/// Pointers to values, found by a hash, in 4,096 shards. A copy costs 64 pointers, and shares with
/// its original whatever neither has changed since; a change copies one shard. What is to be
/// published is copied, and the edition counted up. One writer; copies may be read by any thread.
template <typename Value>
class SharedMap {
public:
  using Pointer = std::shared_ptr<Value>;

  /// The value of this hash that `is_it(value)` is true of. Null: there is none.
  template <typename IsIt>
  const Value* find(std::size_t hash, IsIt&& is_it) const {
    const auto& branch = branches_[place(hash, 0)];
    if (!branch) return nullptr;
    const auto& shard = branch->shards[place(hash, 1)];
    if (!shard) return nullptr;
    for (const auto& entry : shard->entries) {
      if (entry.hash == hash && is_it(*entry.value)) return entry.value.get();
    }
    return nullptr;
  }

  /// The pointer to that value, to be set; null if there is none yet. Set it before the next call.
  template <typename IsIt>
  Pointer& slot(std::size_t hash, Edition edition, IsIt&& is_it) {
    auto& entries = shard(hash, edition).entries;
    for (auto& entry : entries) {
      if (entry.hash == hash && is_it(*entry.value)) return entry.value;
    }
    return entries.emplace_back(Entry{hash, nullptr}).value;
  }

  /// Nothing happens if there is none.
  template <typename IsIt>
  void erase(std::size_t hash, Edition edition, IsIt&& is_it) {
    if (find(hash, is_it) == nullptr) return;
    std::erase_if(shard(hash, edition).entries,
                  [&](const Entry& entry) { return entry.hash == hash && is_it(*entry.value); });
  }

private:
  static constexpr std::size_t k_width = 64;
  struct Entry {
    std::size_t hash;
    Pointer value;
  };
  struct Shard {
    Edition edition = 0;
    std::vector<Entry> entries;
  };
  struct Branch {
    Edition edition = 0;
    std::array<std::shared_ptr<Shard>, k_width> shards;
  };

  static std::size_t place(std::size_t hash, int level) {
    for (; level > 0; --level)
      hash /= k_width;
    return hash % k_width;
  }
  Shard& shard(std::size_t hash, Edition edition) {
    auto& branch = writable(branches_[place(hash, 0)], edition);
    return writable(branch.shards[place(hash, 1)], edition);
  }

  std::array<std::shared_ptr<Branch>, k_width> branches_;
};

} // namespace zoo::authz
