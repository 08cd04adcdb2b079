// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo {

/// Items in the order of their names, each name once. A copy costs a pointer for each hundred
/// items, and shares with its original whatever neither has changed since: so what changes often is
/// published whole. `NameOf` makes a std::string_view of an Item. What nobody writes may be read by
/// any thread.
template <typename Item, typename NameOf>
class OrderedChunks {
public:
  std::size_t size() const { return size_; }

  /// Null: there is none. Valid until this is written.
  const Item* find(std::string_view name) const {
    const auto at = chunk_of(name);
    if (at == chunks_.size()) return nullptr;
    const auto& chunk = *chunks_[at];
    const auto found = place_in(chunk, name);
    return found != chunk.end() && NameOf()(*found) == name ? &*found : nullptr;
  }

  bool contains(std::string_view name) const { return find(name) != nullptr; }

  /// Adds an item or replaces the one of the same name.
  void put(Item item) {
    if (chunks_.empty()) {
      chunks_.push_back(std::make_shared<const Chunk>(1, std::move(item)));
      size_ = 1;
      return;
    }
    const auto at = std::min(chunk_of(NameOf()(item)), chunks_.size() - 1);
    auto chunk = *chunks_[at];
    const auto found = place_in(chunk, NameOf()(item));
    if (found != chunk.end() && NameOf()(*found) == NameOf()(item)) {
      *found = std::move(item);
    } else {
      chunk.insert(found, std::move(item));
      ++size_;
    }
    if (chunk.size() <= k_most) {
      chunks_[at] = std::make_shared<const Chunk>(std::move(chunk));
      return;
    }
    const auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(chunk.size() / 2);
    auto upper = std::make_shared<const Chunk>(middle, chunk.end());
    chunk.erase(middle, chunk.end());
    chunks_[at] = std::make_shared<const Chunk>(std::move(chunk));
    chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(upper));
  }

  /// False: there was none.
  bool remove(std::string_view name) {
    const auto at = chunk_of(name);
    if (at == chunks_.size()) return false;
    auto chunk = *chunks_[at];
    const auto found = place_in(chunk, name);
    if (found == chunk.end() || NameOf()(*found) != name) return false;
    chunk.erase(found);
    --size_;
    if (chunk.empty()) {
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      chunks_[at] = std::make_shared<const Chunk>(std::move(chunk));
    }
    return true;
  }

  void clear() {
    chunks_.clear();
    size_ = 0;
  }

  /// Calls `each(item)` for every item behind the name `after` ("" = from the first one), in order,
  /// until it answers false.
  template <typename Each>
  void visit(std::string_view after, Each&& each) const {
    for (auto at = after.empty() ? std::size_t{0} : chunk_of(after); at < chunks_.size(); ++at) {
      const auto& chunk = *chunks_[at];
      auto place = after.empty() ? chunk.begin() : place_in(chunk, after);
      if (place != chunk.end() && NameOf()(*place) == after) ++place;
      for (; place != chunk.end(); ++place) {
        if (!each(*place)) return;
      }
      after = {};
    }
  }

private:
  using Chunk = std::vector<Item>; ///< never empty
  static constexpr std::size_t k_most = 128;

  /// The chunk that has the name, or would have it in its middle; behind all: the number of chunks.
  std::size_t chunk_of(std::string_view name) const {
    const auto found = std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
      return std::string_view(NameOf()(chunk->back())) < name;
    });
    return static_cast<std::size_t>(found - chunks_.begin());
  }
  template <typename Some>
  static auto place_in(Some& chunk, std::string_view name) {
    return std::partition_point(chunk.begin(), chunk.end(), [&](const Item& item) {
      return std::string_view(NameOf()(item)) < name;
    });
  }

  std::vector<std::shared_ptr<const Chunk>> chunks_;
  std::size_t size_ = 0;
};

struct NameItself {
  std::string_view operator()(const std::string& name) const { return name; }
};
using OrderedNames = OrderedChunks<std::string, NameItself>;

} // namespace zoo
