// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/subject_bindings.hpp"

#include <algorithm>
#include <tuple>

namespace zoo::authz {
namespace {

/// What bindings are sorted by.
using Rank = std::tuple<std::string_view, std::string_view>;

Rank rank_of(const Binding& binding) { return {binding.name_space, binding.name}; }

} // namespace

SubjectBindings::Place SubjectBindings::place_in(const Chunk& chunk, std::string_view name_space,
                                                 std::string_view name) {
  const Rank wanted{name_space, name};
  return std::partition_point(
      chunk.bindings.begin(), chunk.bindings.end(),
      [&](const BindingPtr& binding) { return rank_of(*binding) < wanted; });
}

std::size_t SubjectBindings::chunk_of(std::string_view name_space, std::string_view name) const {
  const Rank wanted{name_space, name};
  const auto found = std::partition_point(chunks_.begin(), chunks_.end(), [&](const auto& chunk) {
    return rank_of(*chunk->bindings.back()) < wanted;
  });
  return static_cast<std::size_t>(found - chunks_.begin());
}

void SubjectBindings::put(const BindingPtr& binding) {
  if (chunks_.empty()) {
    chunks_.push_back(std::make_shared<Chunk>(Chunk{edition, {binding}}));
    return;
  }
  const auto at = std::min(chunk_of(binding->name_space, binding->name), chunks_.size() - 1);
  auto& chunk = writable(chunks_[at], edition);
  const auto place = chunk.bindings.begin() + (place_in(chunk, binding->name_space, binding->name) -
                                               chunk.bindings.cbegin());
  if (place != chunk.bindings.end() && rank_of(**place) == rank_of(*binding)) {
    *place = binding;
    return;
  }
  chunk.bindings.insert(place, binding);
  if (chunk.bindings.size() <= k_most) return;
  const auto middle = chunk.bindings.begin() + static_cast<std::ptrdiff_t>(k_most / 2);
  auto upper = std::make_shared<Chunk>(
      Chunk{edition, std::vector<BindingPtr>(middle, chunk.bindings.end())});
  chunk.bindings.erase(middle, chunk.bindings.end());
  chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(upper));
}

void SubjectBindings::remove(const Binding& binding) {
  const auto at = chunk_of(binding.name_space, binding.name);
  if (at == chunks_.size()) return;
  const auto found = place_in(*chunks_[at], binding.name_space, binding.name);
  if (found == chunks_[at]->bindings.end() || rank_of(**found) != rank_of(binding)) return;
  const auto offset = found - chunks_[at]->bindings.cbegin();
  if (chunks_[at]->bindings.size() == 1) {
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  auto& chunk = writable(chunks_[at], edition);
  chunk.bindings.erase(chunk.bindings.begin() + offset);
}

} // namespace zoo::authz
