// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/view_changes.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace zoo::accounts {
namespace {

using resources::Change;

/// How long ago a State may be from which a watch is resumed.
constexpr std::chrono::seconds k_remembered{600};
/// And so many of them.
constexpr std::size_t k_most_remembered = 2'048;
/// A State and what was touched, beside the objects: pieces of tables are copied, too.
constexpr std::size_t k_state_bytes = 16'384, k_name_bytes = 256;
/// Of so many names a watch that is resumed is told what has become of them between one State and
/// the next; of more its client lists again.
constexpr std::size_t k_most_replayed = 20'000;
/// Puts names in order, each once.
void sort_once(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

/// Calls `each` for every name that may be shown in either State, in order. Returns their number.
std::size_t visit_names(const State& before, const State& now, ViewOf what, const authz::User& user,
                        const std::function<void(const std::string&)>& each) {
  std::vector<std::string> names;
  for (const auto* state : {&before, &now}) {
    if (auto some = candidates(*state, what, user)) {
      names.insert(names.end(), std::make_move_iterator(some->begin()),
                   std::make_move_iterator(some->end()));
      continue;
    }
    visit_all(*state, what, "", [&](const std::string& name) {
      names.push_back(name);
      return true;
    });
  }
  sort_once(names);
  for (const auto& name : names)
    each(name);
  return names.size();
}

template <typename Table>
std::size_t bytes_of(const Table& table, const std::vector<std::string>& names) {
  std::size_t out = names.size() * k_name_bytes;
  for (const auto& name : names)
    if (const auto one = table.find(name)) out += one->object.size();
  return out;
}

template <typename Table>
std::size_t bytes_of(const Table& table) {
  std::size_t out = 0;
  table.visit("", [&](const auto& one) {
    out += one->object.size() + k_name_bytes;
    return true;
  });
  return out;
}

/// What only `before` and older States hold once this has been touched.
std::size_t replaced_bytes(const State& before, const Touched& touched) {
  const auto& rights = touched.rights;
  const auto beside = k_state_bytes + rights.replaced_bytes +
                      (rights.subjects.size() + rights.open_namespaces.size() +
                       rights.namespaces.size() + touched.tenants.size()) *
                          k_name_bytes;
  if (touched.everything)
    return beside + bytes_of(before.spaces) + bytes_of(before.accounts) + bytes_of(before.quotas) +
           bytes_of(before.instances);
  return beside + bytes_of(before.spaces, touched.spaces) +
         bytes_of(before.accounts, touched.accounts) + bytes_of(before.quotas, touched.quotas) +
         bytes_of(before.instances, touched.instances);
}

/// May a change of rights or members have shown or hidden what the publication does not name?
bool concerns(const Viewer& viewer, const State& before, const ViewHistory::Remembered& now) {
  const auto& touched = *now.touched;
  if (touched.everything || touched.rights.everybody) return true;
  const auto mine = [&](const std::vector<std::string>& keys) {
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return std::find(viewer.keys.begin(), viewer.keys.end(), key) != viewer.keys.end();
    });
  };
  if (mine(touched.rights.subjects)) return true;
  return std::any_of(touched.accounts.begin(), touched.accounts.end(), [&](const auto& name) {
    for (const auto* state : {&before, now.state.get()}) {
      if (const auto account = state->accounts.find(name); account && mine(account->subject_keys))
        return true;
    }
    return false;
  });
}

/// Of the instances that the user may perhaps see: those of the namespaces where he may read them,
/// and of the spaces of his accounts. Nothing: it may be any.
std::optional<std::vector<std::string>> instances_near(const State& state,
                                                       const authz::User& user) {
  std::vector<std::string> spaces, names;
  if (state.rights != nullptr) {
    authz::Attributes get;
    get.verb = "get";
    get.group = k_config_group;
    get.resource = "templateinstances";
    auto reach = state.rights->namespaces_of(user, get);
    if (reach.everywhere) return std::nullopt;
    spaces = std::move(reach.namespaces);
  }
  for (const auto& account : state.accounts_of(user)) {
    if (const auto owned = state.spaces_of_account.find(account->name))
      spaces.insert(spaces.end(), owned->names.begin(), owned->names.end());
  }
  sort_once(spaces);
  for (const auto& space : spaces)
    state.visit_instances(space, [&](const std::string& name) { names.push_back(name); });
  return names;
}

} // namespace

void visit_all(const State& state, ViewOf what, std::string_view after,
               const std::function<bool(const std::string&)>& each) {
  const auto visit = [&](const auto& table) {
    table.visit(after, [&](const auto& one) { return each(one->name); });
  };
  switch (what) {
  case ViewOf::accounts:
    return visit(state.accounts);
  case ViewOf::quotas:
    return visit(state.quotas);
  case ViewOf::instances:
    return visit(state.instances);
  case ViewOf::spaces:
  case ViewOf::namespaces:
    return visit(state.spaces);
  }
}

Shown shown(const State& state, ViewOf what, const authz::User& user, std::string_view name) {
  if (what == ViewOf::quotas) {
    auto quota = state.quotas.find(name);
    return quota && shows(state, user, *quota) ? Shown{nullptr, nullptr, std::move(quota)}
                                               : Shown{};
  }
  if (what == ViewOf::instances) {
    auto instance = state.instances.find(name);
    return instance && shows(state, user, *instance)
               ? Shown{nullptr, nullptr, nullptr, std::move(instance)}
               : Shown{};
  }
  if (what == ViewOf::accounts) {
    auto account = state.accounts.find(name);
    return account && shows(state, user, *account) ? Shown{nullptr, std::move(account)} : Shown{};
  }
  auto space = state.spaces.find(name);
  return space && shows(state, user, *space) ? Shown{std::move(space), nullptr} : Shown{};
}

std::optional<std::vector<std::string>> candidates(const State& state, ViewOf what,
                                                   const authz::User& user) {
  if (what == ViewOf::instances) return instances_near(state, user);
  if (what == ViewOf::accounts || what == ViewOf::quotas)
    return std::nullopt; // few, and a name may be allowed alone
  std::vector<std::string> names;
  if (state.rights != nullptr) {
    authz::Attributes get;
    get.verb = "get";
    get.resource = "namespaces";
    auto reach = state.rights->namespaces_of(user, get);
    if (reach.everywhere) return std::nullopt;
    names = std::move(reach.namespaces);
  }
  for (const auto& account : state.accounts_of(user)) {
    const auto spaces = state.spaces_of_account.find(account->name);
    if (!spaces) continue;
    for (const auto& name : spaces->names) {
      if (const auto space = state.spaces.find(name); space && space->initializing)
        names.push_back(name);
    }
  }
  sort_once(names);
  return names;
}

void compare(const Viewer& viewer, const State& before, const State& now, std::string_view name,
             Differences& out) {
  auto was = shown(before, viewer.what, viewer.user, name);
  auto is = shown(now, viewer.what, viewer.user, name);
  if (was == is) return;
  if (was && is && was.uid() == is.uid()) {
    out.emplace_back(Change::Type::modified, std::move(is));
    return;
  }
  if (was) out.emplace_back(Change::Type::deleted, std::move(was));
  if (is) out.emplace_back(Change::Type::added, std::move(is));
}

Differences compare_all(const Viewer& viewer, const State& before, const State& now,
                        std::size_t* looked) {
  Differences out;
  const auto each = [&](const std::string& name) { compare(viewer, before, now, name, out); };
  const auto count = visit_names(before, now, viewer.what, viewer.user, each);
  if (looked != nullptr) *looked += count;
  return out;
}

std::vector<std::string> names_touched(const State& before, const State& now,
                                       const Touched& touched, ViewOf what) {
  if (what == ViewOf::accounts) return touched.accounts;
  if (what == ViewOf::quotas) return touched.quotas;
  auto spaces = touched.spaces;
  const auto& open = touched.rights.open_namespaces;
  spaces.insert(spaces.end(), open.begin(), open.end());
  sort_once(spaces);
  if (what != ViewOf::instances) return spaces;
  auto names = touched.instances;
  for (const auto* state : {&before, &now}) {
    for (const auto& space : spaces)
      state->visit_instances(space, [&](const std::string& name) { names.push_back(name); });
  }
  sort_once(names);
  return names;
}

void ViewHistory::remember(const StatePtr& state, Touched touched, Clock::time_point now) {
  auto bytes = std::exchange(passed_over_, 0);
  if (!empty()) bytes += replaced_bytes(*remembered_.back().state, touched);
  remembered_.push_back({state, std::make_shared<const Touched>(std::move(touched)), now, bytes});
  bytes_ += bytes;
  while (remembered_.size() > k_most_remembered ||
         (remembered_.size() > 1 && (bytes_ > most_ || now - remembered_[1].at >= k_remembered)))
    forget_first();
}

/// With it goes what the one behind it has replaced.
void ViewHistory::forget_first() {
  remembered_.pop_front();
  bytes_ -= std::exchange(remembered_.front().replaced, 0);
}

Result<ViewHistory::Part> ViewHistory::since(std::int64_t revision) const {
  auto first = remembered_.end();
  for (auto one = remembered_.begin(); one != remembered_.end(); ++one) {
    if (one->state->revision > revision) break;
    if (first == remembered_.end() || one->state->revision != first->state->revision) first = one;
  }
  if (first == remembered_.end()) {
    return fail(Code::expired, "the resourceVersion {} is too old, or of another zood: list again",
                revision);
  }
  return Part(first, remembered_.end());
}

Result<Differences> ViewHistory::replay(const Viewer& viewer, const Part& part) {
  struct Fate {
    Shown last;        ///< as it was shown before it went
    bool came = false; ///< into sight, at some time
  };
  std::map<std::string, Fate> fates;
  std::size_t looked = 0;
  for (std::size_t i = 1; i < part.size(); ++i) {
    const auto& before = *part[i - 1].state;
    const auto& now = *part[i].state;
    const auto& touched = *part[i].touched;
    Differences differences;
    if (concerns(viewer, before, part[i])) {
      differences = compare_all(viewer, before, now, &looked);
    } else {
      const auto names = names_touched(before, now, touched, viewer.what);
      looked += names.size();
      for (const auto& name : names)
        compare(viewer, before, now, name, differences);
    }
    for (auto& [type, one] : differences) {
      auto& fate = fates[one.name()];
      if (type == Change::Type::added) fate.came = true;
      if (type == Change::Type::deleted) fate.last = std::move(one);
    }
    if (looked > k_most_replayed)
      return fail(Code::expired, "too much of what you may see has changed since: list again");
  }
  Differences out;
  for (auto& [name, fate] : fates) {
    auto is = shown(*part.back().state, viewer.what, viewer.user, name);
    if (fate.last && (!is || is.uid() != fate.last.uid()))
      out.emplace_back(Change::Type::deleted, std::move(fate.last));
    if (is)
      out.emplace_back(fate.came ? Change::Type::added : Change::Type::modified, std::move(is));
  }
  return out;
}

} // namespace zoo::accounts
