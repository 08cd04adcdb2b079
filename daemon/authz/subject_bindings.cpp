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

SubjectBindings::Bindings::const_iterator SubjectBindings::place_in(const Bindings& chunk,
                                                                    std::string_view name_space,
                                                                    std::string_view name) {
  const Rank wanted{name_space, name};
  return std::partition_point(chunk.begin(), chunk.end(), [&](const BindingPtr& binding) {
    return rank_of(*binding) < wanted;
  });
}

std::size_t SubjectBindings::chunk_of(std::string_view name_space, std::string_view name) const {
  const Rank wanted{name_space, name};
  if (empty() || !(rank_of(*first_.back()) < wanted)) return 0;
  const auto found = std::partition_point(more_.begin(), more_.end(), [&](const auto& chunk) {
    return rank_of(*chunk->bindings.back()) < wanted;
  });
  return 1 + static_cast<std::size_t>(found - more_.begin());
}

void SubjectBindings::put(const BindingPtr& binding) {
  const auto at = std::min(chunk_of(binding->name_space, binding->name), chunks() - 1);
  auto& chunk = writable_chunk(at);
  const auto place =
      chunk.begin() + (place_in(chunk, binding->name_space, binding->name) - chunk.cbegin());
  if (place != chunk.end() && rank_of(**place) == rank_of(*binding)) {
    *place = binding;
    return;
  }
  chunk.insert(place, binding);
  if (chunk.size() <= k_most) return;
  const auto middle = chunk.begin() + static_cast<std::ptrdiff_t>(k_most / 2);
  auto upper = std::make_shared<Chunk>(Chunk{edition, Bindings(middle, chunk.end())});
  chunk.erase(middle, chunk.end());
  more_.insert(more_.begin() + static_cast<std::ptrdiff_t>(at), std::move(upper));
}

void SubjectBindings::remove(const Binding& binding) {
  const auto at = chunk_of(binding.name_space, binding.name);
  if (empty() || at == chunks()) return;
  auto& bindings = writable_chunk(at);
  const auto found = place_in(bindings, binding.name_space, binding.name);
  if (found == bindings.end() || rank_of(**found) != rank_of(binding)) return;
  bindings.erase(found);
  if (!bindings.empty() || more_.empty()) return;
  if (at == 0) first_ = more_.front()->bindings;
  more_.erase(more_.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(at, 1)) - 1);
}

} // namespace zoo::authz
