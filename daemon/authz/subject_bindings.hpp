// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/authz/objects.hpp"
#include "daemon/authz/shared_map.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::authz {

/// The bindings that name one subject, in the order of namespace and name: those of the whole
/// cluster come first. A copy shares all bindings but those that are changed later, a hundred or so
/// at a time, since a group may be bound in each namespace. A piece of a SharedMap, and used as
/// one.
struct SubjectBindings {
  using BindingPtr = std::shared_ptr<const Binding>;

  Edition edition = 0;
  std::string key; ///< subject_key()

  /// Adds a binding, or replaces the one of the same namespace and name.
  void put(const BindingPtr& binding);
  /// Nothing happens if it is not among them.
  void remove(const Binding& binding);
  bool empty() const { return chunks_.empty(); }

  /// Calls `each(binding)` for those of this namespace ("" = of the cluster), by name.
  template <typename Each>
  void visit(std::string_view name_space, Each&& each) const {
    for_each_from(name_space, "", [&](const Binding& binding) {
      if (binding.name_space != name_space) return false;
      each(binding);
      return true;
    });
  }
  /// The same for those of all namespaces, in order; not for the cluster's.
  template <typename Each>
  void visit_namespaces(Each&& each) const {
    constexpr std::string_view k_first(" "); // sorts before every name
    for_each_from(k_first, "", [&](const Binding& binding) {
      each(binding);
      return true;
    });
  }

private:
  struct Chunk {
    Edition edition = 0;
    std::vector<BindingPtr> bindings; ///< never empty
  };
  using Place = std::vector<BindingPtr>::const_iterator;
  static constexpr std::size_t k_most = 128; ///< bindings of a chunk

  static Place place_in(const Chunk& chunk, std::string_view name_space, std::string_view name);
  /// The chunk that has this one, or would have it in its middle; behind all: their number.
  std::size_t chunk_of(std::string_view name_space, std::string_view name) const;

  template <typename Each>
  void for_each_from(std::string_view name_space, std::string_view name, Each&& each) const {
    const auto first = chunk_of(name_space, name);
    for (auto at = first; at < chunks_.size(); ++at) {
      const auto& chunk = *chunks_[at];
      auto place = at == first ? place_in(chunk, name_space, name) : chunk.bindings.begin();
      for (; place != chunk.bindings.end(); ++place) {
        if (!each(**place)) return;
      }
    }
  }

  std::vector<std::shared_ptr<Chunk>> chunks_;
};

} // namespace zoo::authz
