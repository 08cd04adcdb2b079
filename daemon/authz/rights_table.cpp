// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/rights_tables.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace zoo::authz {
namespace {

using BindingPtr = std::shared_ptr<const Binding>;
using Keys = std::vector<std::string>; ///< sorted, each once

constexpr std::size_t k_most_touched = 1'024; ///< subject keys, namespaces: told one by one
/// Copied of the tables for each subject of a binding that changes, beside its key.
constexpr std::size_t k_subject_bytes = 1'024;

Keys keys_of(const Binding& binding) {
  Keys out;
  for (const auto& subject : binding.subjects) {
    auto key = subject_key(subject, binding.name_space);
    if (!key.empty()) out.push_back(std::move(key));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string key_of_role(std::string_view name_space, std::string_view name) {
  std::string out(name_space);
  return out.append("/").append(name);
}
std::string role_of(const Binding& binding) {
  return key_of_role(binding.role_kind == "ClusterRole" ? "" : binding.name_space,
                     binding.role_name);
}

/// A binding, and where it stands among those of its role.
struct Kept {
  BindingPtr binding;
  mutable std::size_t place = 0;
};
struct Name {
  std::string_view name_space, name;
  bool operator==(const Name&) const = default;
};
Name name_of(const Name& name) { return name; }
Name name_of(const Kept& kept) { return {kept.binding->name_space, kept.binding->name}; }

struct HashOfName {
  using is_transparent = void;
  template <typename Named>
  std::size_t operator()(const Named& named) const {
    const auto name = name_of(named);
    return hash_of(name.name_space, name.name);
  }
};
struct SameName {
  using is_transparent = void;
  template <typename One, typename Other>
  bool operator()(const One& one, const Other& other) const {
    return name_of(one) == name_of(other);
  }
};

} // namespace

struct RightsTable::Impl {
  void touch(const std::string& key, const std::string& name_space) {
    if (everybody) return;
    // Each user of the cluster has one of these.
    const bool all = key == "g:system:authenticated" || key == "g:system:unauthenticated";
    // Of very many in one namespace that is told alone: it troubles nobody elsewhere.
    const bool many = touched.size() >= k_most_touched && !touched.contains(key);
    if (!all && !many) {
      touched.insert(key);
    } else if (!name_space.empty()) {
      open_namespaces.insert(name_space);
    }
    everybody = ((all || many) && name_space.empty()) || open_namespaces.size() > k_most_touched;
    if (everybody) forget();
  }
  /// Of what is replaced, or goes.
  void count(const Role& role) {
    replaced_bytes += sizeof role + k_subject_bytes;
    for (const auto& rule : role.rules)
      replaced_bytes += rule.bytes();
  }
  void count(const Binding& binding, const Keys& keys) {
    replaced_bytes += sizeof binding + keys.size() * k_subject_bytes;
    for (const auto& key : keys)
      replaced_bytes += 4 * key.size(); // in the binding, in the table, and what was touched
  }
  /// A binding there came, went or is another.
  void touch_place(std::string_view name_space) {
    if (everybody || name_space.empty()) return;
    places.emplace(name_space);
    everybody = places.size() > k_most_touched;
    if (everybody) forget();
  }
  void forget() {
    touched.clear();
    open_namespaces.clear();
    places.clear();
  }
  void touch_holders(std::string_view name_space, std::string_view name) {
    changed = true;
    const auto found = by_role.find(key_of_role(name_space, name));
    if (found == by_role.end()) return;
    for (const auto* kept : found->second) {
      for (const auto& key : keys_of(*kept->binding))
        touch(key, kept->binding->name_space);
      if (everybody) return;
    }
  }

  void index(BindingPtr binding, const Keys& keys) {
    for (const auto& key : keys) {
      auto& slot = tables.subjects.slot(
          hash_of(key), edition, [&](const SubjectBindings& each) { return each.key == key; });
      auto& subject = writable(slot, edition);
      subject.key = key;
      subject.put(binding);
    }
    auto& of_role = by_role[role_of(*binding)];
    const auto kept = bindings.insert(Kept{std::move(binding), of_role.size()}).first;
    of_role.push_back(&*kept);
  }
  void unindex(const Kept& kept, const Keys& keys) {
    for (const auto& key : keys) {
      const auto is_it = [&](const SubjectBindings& each) { return each.key == key; };
      auto& subject = writable(tables.subjects.slot(hash_of(key), edition, is_it), edition);
      subject.remove(*kept.binding);
      if (subject.empty()) tables.subjects.erase(hash_of(key), edition, is_it);
    }
    const auto found = by_role.find(role_of(*kept.binding));
    auto& of_role = found->second;
    of_role[kept.place] = of_role.back();
    of_role[kept.place]->place = kept.place;
    of_role.pop_back();
    if (of_role.empty()) by_role.erase(found);
    bindings.erase(bindings.find(name_of(kept)));
  }

  RightsTables tables;
  Edition edition = 1;
  std::unordered_set<Kept, HashOfName, SameName> bindings;
  std::unordered_map<std::string, std::vector<const Kept*>> by_role;
  bool changed = true, everybody = false;
  std::size_t replaced_bytes = 0;
  std::set<std::string> touched, open_namespaces, places;
  RightsPtr last;
};

RightsTable::RightsTable() : impl_(std::make_unique<Impl>()) {}
RightsTable::~RightsTable() = default;

void RightsTable::put(std::shared_ptr<const Role> role) {
  const auto is_it = [&](const Role& each) {
    return each.name == role->name && each.name_space == role->name_space;
  };
  const auto hash = hash_of(role->name_space, role->name);
  const auto* old = impl_->tables.roles.find(hash, is_it);
  if (old != nullptr && old->rules == role->rules) return;
  if (old != nullptr) impl_->count(*old);
  impl_->touch_holders(role->name_space, role->name);
  impl_->tables.roles.slot(hash, impl_->edition, is_it) = role;
}

void RightsTable::put(BindingPtr binding) {
  const auto found = impl_->bindings.find(name_of(Kept{binding}));
  const auto old = found == impl_->bindings.end() ? nullptr : found->binding;
  if (old && *old == *binding) return;
  const auto keys = keys_of(*binding);
  const auto old_keys = old ? keys_of(*old) : Keys();
  Keys others;
  if (old && role_of(*old) == role_of(*binding) && old->role_kind == binding->role_kind) {
    std::set_symmetric_difference(keys.begin(), keys.end(), old_keys.begin(), old_keys.end(),
                                  std::back_inserter(others));
  } else {
    std::set_union(keys.begin(), keys.end(), old_keys.begin(), old_keys.end(),
                   std::back_inserter(others));
  }
  for (const auto& key : others)
    impl_->touch(key, binding->name_space);
  impl_->touch_place(binding->name_space);
  impl_->count(*binding, keys);
  if (old) impl_->count(*old, old_keys);
  if (old) impl_->unindex(*found, old_keys);
  impl_->index(std::move(binding), keys);
  impl_->changed = true;
}

void RightsTable::remove_role(std::string_view name_space, std::string_view name) {
  const auto* old = impl_->tables.role(name_space, name);
  if (old == nullptr) return;
  impl_->count(*old);
  impl_->tables.roles.erase(hash_of(name_space, name), impl_->edition, [&](const Role& each) {
    return each.name == name && each.name_space == name_space;
  });
  impl_->touch_holders(name_space, name);
}

void RightsTable::remove_binding(std::string_view name_space, std::string_view name) {
  const auto found = impl_->bindings.find(Name{name_space, name});
  if (found == impl_->bindings.end()) return;
  const auto keys = keys_of(*found->binding);
  for (const auto& key : keys)
    impl_->touch(key, found->binding->name_space);
  impl_->touch_place(name_space);
  impl_->count(*found->binding, keys);
  impl_->unindex(*found, keys);
  impl_->changed = true;
}

RightsTable::Published RightsTable::publish() {
  if (std::exchange(impl_->changed, false)) {
    impl_->last = rights_of(impl_->tables);
    ++impl_->edition; // what is written from now on is written elsewhere
  }
  Published out{impl_->last, {}};
  out.touched.everybody = std::exchange(impl_->everybody, false);
  out.touched.replaced_bytes = std::exchange(impl_->replaced_bytes, 0);
  out.touched.subjects.assign(impl_->touched.begin(), impl_->touched.end());
  out.touched.open_namespaces.assign(impl_->open_namespaces.begin(), impl_->open_namespaces.end());
  out.touched.namespaces.assign(impl_->places.begin(), impl_->places.end());
  impl_->forget();
  return out;
}

} // namespace zoo::authz
