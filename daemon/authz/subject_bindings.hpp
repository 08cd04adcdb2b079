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
/// cluster come first. Most subjects have few; of one that has more than a hundred a copy shares
/// all but the first, and a change copies another hundred, since a group may be bound in each
/// namespace. A piece of a SharedMap, and used as one.
struct SubjectBindings {
  using BindingPtr = std::shared_ptr<const Binding>;

  Edition edition = 0;
  std::string key; ///< subject_key()

  /// Adds a binding, or replaces the one of the same namespace and name.
  void put(const BindingPtr& binding);
  /// Nothing happens if it is not among them.
  void remove(const Binding& binding);
  bool empty() const { return first_.empty(); }

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
  using Bindings = std::vector<BindingPtr>;
  struct Chunk {
    Edition edition = 0;
    Bindings bindings; ///< never empty
  };
  static constexpr std::size_t k_most = 128; ///< bindings of a chunk

  static Bindings::const_iterator place_in(const Bindings& chunk, std::string_view name_space,
                                           std::string_view name);
  std::size_t chunks() const { return 1 + more_.size(); }
  const Bindings& chunk(std::size_t at) const { return at == 0 ? first_ : more_[at - 1]->bindings; }
  Bindings& writable_chunk(std::size_t at) {
    return at == 0 ? first_ : writable(more_[at - 1], edition).bindings;
  }
  /// The chunk that has this one, or would have it in its middle; behind all: their number.
  std::size_t chunk_of(std::string_view name_space, std::string_view name) const;

  template <typename Each>
  void for_each_from(std::string_view name_space, std::string_view name, Each&& each) const {
    if (empty()) return;
    const auto first = chunk_of(name_space, name);
    for (auto at = first; at < chunks(); ++at) {
      const auto& bindings = chunk(at);
      auto place = at == first ? place_in(bindings, name_space, name) : bindings.begin();
      for (; place != bindings.end(); ++place) {
        if (!each(**place)) return;
      }
    }
  }

  Bindings first_; ///< empty: there is none at all
  std::vector<std::shared_ptr<Chunk>> more_;
};

} // namespace zoo::authz
