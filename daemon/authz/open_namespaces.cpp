// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/open_namespaces.hpp"

#include <algorithm>
#include <utility>

namespace zoo::authz {
namespace {

std::shared_ptr<const Binding> without_everybody(const Binding& binding) {
  auto out = binding;
  std::erase_if(out.subjects, is_everybody);
  return std::make_shared<const Binding>(std::move(out));
}

} // namespace

bool is_everybody(const Subject& subject) {
  return subject.kind == "Group" &&
         (subject.name == "system:authenticated" || subject.name == "system:unauthenticated");
}

OpenNamespaces::BindingPtr OpenNamespaces::put(BindingPtr binding) {
  if (binding->name_space.empty()) return binding;
  const auto& subjects = binding->subjects;
  if (std::none_of(subjects.begin(), subjects.end(), is_everybody)) {
    remove(binding->name_space, binding->name);
    return binding;
  }
  auto& space = spaces_[binding->name_space];
  space.bindings.insert_or_assign(binding->name, binding);
  return space.restless ? without_everybody(*binding) : binding;
}

bool OpenNamespaces::remove(const std::string& name_space, std::string_view name) {
  const auto found = spaces_.find(name_space);
  if (found == spaces_.end()) return false;
  const auto binding = found->second.bindings.find(name);
  if (binding == found->second.bindings.end()) return false;
  found->second.bindings.erase(binding); // its changes still count
  return true;
}

bool OpenNamespaces::has(const std::string& name_space, std::string_view name) const {
  const auto found = spaces_.find(name_space);
  return found != spaces_.end() && found->second.bindings.contains(name);
}

bool OpenNamespaces::open(const std::string& name_space) const {
  const auto found = spaces_.find(name_space);
  return found != spaces_.end() && !found->second.bindings.empty();
}

std::vector<OpenNamespaces::BindingPtr> OpenNamespaces::changed(const std::string& name_space,
                                                                Clock::time_point now) {
  std::vector<BindingPtr> out;
  auto& space = spaces_[name_space];
  if (space.changes == 0 || now - space.since >= k_span) {
    space.changes = 0;
    space.since = now;
  }
  ++space.changes;
  space.last = now;
  if (space.restless || space.changes <= k_most_changes) return out;
  space.restless = true;
  for (const auto& [name, binding] : space.bindings)
    out.push_back(without_everybody(*binding));
  return out;
}

std::vector<OpenNamespaces::BindingPtr> OpenNamespaces::settle(Clock::time_point now) {
  std::vector<BindingPtr> out;
  for (auto each = spaces_.begin(); each != spaces_.end();) {
    auto& space = each->second;
    const bool quiet = now - space.last >= k_span;
    if (quiet && std::exchange(space.restless, false)) {
      space.changes = 0;
      for (const auto& [name, binding] : space.bindings)
        out.push_back(binding);
    }
    each = quiet && space.bindings.empty() ? spaces_.erase(each) : std::next(each);
  }
  return out;
}

std::size_t OpenNamespaces::restless() const {
  return static_cast<std::size_t>(std::count_if(
      spaces_.begin(), spaces_.end(), [](const auto& each) { return each.second.restless; }));
}

} // namespace zoo::authz
