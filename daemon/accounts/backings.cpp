// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/backings.hpp"

#include "daemon/translate/status_text.hpp"

#include <nlohmann/json.hpp>

namespace zoo::accounts {

/// As Kubernetes names an object in what it says of it: `spaces.tenancy.kiosk.sh "x"`.
std::string ViewBacking::title(std::string_view name) const {
  auto out = resource_.empty() ? std::string("namespaces")
                               : resource_ + "." + std::string(k_tenancy_group);
  if (!name.empty()) out += fmt::format(" \"{}\"", name);
  return out;
}

/// In which what is shown here has been read.
Result<StatePtr> ViewBacking::state() const {
  ZOO_TRY(auto state, views_.state());
  if ((what_ == ViewOf::quotas && !state->quotas_read) ||
      (what_ == ViewOf::instances && !state->instances_read))
    return fail(Code::unavailable,
                "the {} have not been read from upstream yet; try again in a moment", resource_);
  return state;
}

/// The object's name in the State.
std::string ViewBacking::known_as(const resources::Key& key) const {
  const bool first = key.name.empty(); // of a list that begins
  return what_ == ViewOf::instances && !first ? instance_key(key.space, key.name) : key.name;
}

Result<void> ViewBacking::admit(const resources::Who& caller, resources::Verb verb,
                                const resources::Key& key) {
  if (resource_.empty()) return {};
  ZOO_TRY(const auto state, views_.state());
  authz::Attributes asked;
  asked.verb = resources::verb_name(verb);
  asked.group = k_tenancy_group;
  asked.version = k_version;
  asked.resource = resource_;
  asked.name = key.name;
  asked.name_space = key.space;
  if (state->rights->decide(user_of(caller), asked).allowed) return {};
  return fail(Code::forbidden, "{} is forbidden: {}", title(key.name),
              translate::denied_reason(caller.name, asked.verb, asked.group, asked.resource, {},
                                       key.space));
}

Result<resources::ObjectPtr> ViewBacking::get(const resources::Who& caller,
                                              const resources::Key& key) {
  ZOO_TRY(const auto state, this->state());
  auto found = Views::object_of(*state, what_, caller, known_as(key));
  if (!found) return fail(Code::not_found, "{} not found", title(key.name));
  return found;
}

Result<resources::Page> ViewBacking::list(const resources::Who& caller, std::string_view space,
                                          const resources::Key& after, std::size_t limit) {
  ZOO_TRY(const auto state, this->state());
  return Views::list(*state, what_, caller, known_as(after), limit, space);
}

Result<std::unique_ptr<resources::Subscription>>
ViewBacking::watch(const resources::Who& caller, std::int64_t revision,
                   std::function<void(const resources::Change&)> on_change) {
  ZOO_TRY_VOID(state());
  return views_.watch(what_, caller, revision, std::move(on_change));
}

} // namespace zoo::accounts
