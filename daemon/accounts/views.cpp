// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/views.hpp"

#include "common/base/published.hpp"
#include "daemon/accounts/objects.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace zoo::accounts {
namespace {

using Clock = std::chrono::steady_clock;
using resources::Change;
using resources::ObjectPtr;

/// A watch that has nothing to tell says so often how far it has come.
constexpr std::chrono::seconds k_tell_position{30};

ObjectPtr object(ViewOf what, const Shown& one, std::int64_t revision = 0) {
  auto json = what == ViewOf::accounts    ? tenancy_account(*one.account)
              : what == ViewOf::quotas    ? tenancy_quota(*one.quota)
              : what == ViewOf::instances ? tenancy_instance(*one.instance)
              : what == ViewOf::spaces    ? tenancy_space(*one.space)
                                          : core_namespace(*one.space);
  if (revision != 0) json["metadata"]["resourceVersion"] = std::to_string(revision);
  return resources::make_object(std::move(json));
}

} // namespace

struct Views::Impl {
  struct Watcher : Viewer {
    std::function<void(const Change&)> tell;
    StatePtr known;         ///< what it has been told up to
    Clock::time_point told; ///< when it was told anything
  };
  using Watchers = std::list<Watcher>;

  class Subscribed final : public resources::Subscription {
  public:
    Subscribed(std::shared_ptr<Impl> impl, Watchers::iterator place)
        : impl_(std::move(impl)), place_(place) {}
    ~Subscribed() override {
      const std::scoped_lock lock(impl_->mutex);
      impl_->unlink(*place_);
      impl_->watchers.erase(place_);
    }

  private:
    std::shared_ptr<Impl> impl_;
    Watchers::iterator place_;
  };

  static void put_in_order(Differences& differences);
  static void tell(const Watcher& watcher, Differences differences, std::int64_t before,
                   const State& now);
  void hear(Watcher& watcher, Differences differences, const StatePtr& now) const;
  void unlink(Watcher& watcher);
  Published<const State> current;
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  Watchers watchers;
  std::unordered_multimap<std::string, Watcher*> by_subject;
  ViewHistory history;
  Now clock;
};

/// What goes first, then by resourceVersion: a client that is cut off in between goes on from the
/// last one that it has heard.
void Views::Impl::put_in_order(Differences& differences) {
  std::stable_sort(differences.begin(), differences.end(), [](const auto& a, const auto& b) {
    const auto place = [](const auto& each) {
      return each.first == Change::Type::deleted ? 0 : each.second.revision();
    };
    return place(a) < place(b);
  });
}

/// Who has heard the last one has heard all up to `now`, and who is cut off before it has not: he
/// is where he was before.
void Views::Impl::tell(const Watcher& watcher, Differences differences, std::int64_t before,
                       const State& now) {
  put_in_order(differences);
  for (const auto& [type, one] : differences) {
    const bool last = &one == &differences.back().second;
    const auto revision = last ? now.revision : before;
    const bool gone = type == Change::Type::deleted;
    watcher.tell({type, object(watcher.what, one, gone ? revision : 0), revision});
  }
}

/// What a publication has changed for a watcher.
void Views::Impl::hear(Watcher& watcher, Differences differences, const StatePtr& now) const {
  const bool nothing = differences.empty();
  tell(watcher, std::move(differences), watcher.known->revision, *now);
  watcher.known = now;
  const auto at = clock();
  if (nothing && at - watcher.told < k_tell_position) return;
  if (nothing) watcher.tell({Change::Type::passed, nullptr, now->revision});
  watcher.told = at;
}

void Views::Impl::unlink(Watcher& watcher) {
  for (const auto& key : watcher.keys) {
    const auto [first, last] = by_subject.equal_range(key);
    for (auto at = first; at != last; ++at) {
      if (at->second != &watcher) continue;
      by_subject.erase(at);
      break;
    }
  }
}

Views::Views(Now now) : impl_(std::make_shared<Impl>()) { impl_->clock = std::move(now); }

Views::~Views() = default;

void Views::published(const StatePtr& before, const StatePtr& now, const Touched& touched) {
  auto& my = *impl_;
  const std::scoped_lock lock(my.mutex);
  my.current.store(now);
  my.changed.notify_all();
  if (now->trouble) return; // what is not to be believed is told to nobody
  const bool same = !touched.everything && touched.spaces.empty() && touched.accounts.empty() &&
                    touched.quotas.empty() && touched.instances.empty() && touched.rights.empty();
  const bool all = touched.everything || touched.rights.everybody || before->trouble.has_value();
  if (!same || my.history.empty()) {
    auto changes = touched;
    changes.everything = all;
    my.history.remember(now, std::move(changes), my.clock());
  } else {
    my.history.passed_over(touched);
  }
  const auto look = [&](Impl::Watcher& watcher) {
    if (watcher.known == now) return;
    my.hear(watcher, compare_all(watcher, *watcher.known, *now), now);
  };
  if (all) {
    for (auto& watcher : my.watchers)
      look(watcher);
  } else {
    std::vector<std::string> keys = touched.rights.subjects;
    for (const auto& name : touched.accounts) { // members see spaces that are being made
      for (const auto* state : {before.get(), now.get()}) {
        if (const auto account = state->accounts.find(name))
          keys.insert(keys.end(), account->subject_keys.begin(), account->subject_keys.end());
      }
    }
    for (const auto& key : keys) {
      const auto [first, last] = my.by_subject.equal_range(key);
      for (auto at = first; at != last; ++at)
        look(*at->second);
    }
  }
  std::map<ViewOf, std::vector<std::string>> changed; // of the views that are watched
  for (auto& watcher : my.watchers) {
    if (watcher.known == now) continue;
    const auto [entry, first] = changed.try_emplace(watcher.what);
    auto& names = entry->second;
    if (first) names = names_touched(*before, *now, touched, watcher.what);
    Differences differences;
    for (const auto& name : names)
      compare(watcher, *watcher.known, *now, name, differences);
    my.hear(watcher, std::move(differences), now);
  }
}

Result<StatePtr> Views::state() const {
  auto state = impl_->current.load();
  if (state == nullptr) return fail(Code::unavailable, "zood has not read the accounts yet");
  if (state->trouble) return fail(*state->trouble);
  return state;
}

resources::ObjectPtr Views::object_of(const State& state, ViewOf what, const resources::Who& who,
                                      std::string_view name) {
  const auto one = shown(state, what, user_of(who), name);
  return one ? object(what, one) : nullptr;
}

resources::Page Views::list(const State& state, ViewOf what, const resources::Who& who,
                            std::string_view after, std::size_t limit, std::string_view space) {
  const auto user = user_of(who);
  resources::Page page;
  page.revision = state.revision;
  const auto begin = space.empty() ? std::string() : instance_key(space, "");
  if (after < begin) after = begin;
  // False: there is no room for another one.
  const auto add = [&](const std::string& name) {
    if (!name.starts_with(begin)) return false; // behind the namespace
    const auto one = shown(state, what, user, name);
    if (!one) return true;
    if (limit != 0 && page.items.size() == limit) {
      page.next = resources::key_of(*page.items.back());
      return false;
    }
    page.items.push_back(object(what, one));
    return true;
  };
  const auto names = candidates(state, what, user);
  if (!names) {
    visit_all(state, what, after, add);
    return page;
  }
  for (auto name = std::upper_bound(names->begin(), names->end(), after); name != names->end();
       ++name) {
    if (!add(*name)) break;
  }
  return page;
}

Result<std::unique_ptr<resources::Subscription>>
Views::watch(ViewOf what, const resources::Who& who, std::int64_t revision,
             std::function<void(const Change&)> on_change) {
  auto& my = *impl_;
  auto user = user_of(who);
  auto keys = authz::subject_keys(user);
  ZOO_TRY(const auto first, state());
  Impl::Watcher watcher{
      {what, std::move(user), std::move(keys)}, std::move(on_change), first, my.clock()};
  if (revision > first->revision) {
    return fail(Code::timeout, "Too large resource version: {}, current: {}", revision,
                first->revision);
  }
  auto known = first;
  if (revision != 0) {
    ViewHistory::Part history;
    {
      const std::scoped_lock lock(my.mutex);
      ZOO_TRY(history, my.history.since(revision));
    }
    // The most of it without the lock, which the Follower's loop waits for.
    ZOO_TRY(auto differences, ViewHistory::replay(watcher, history));
    // Those behind it that are not remembered are no others.
    if (history.back().state->sequence > first->sequence) known = history.back().state;
    Impl::tell(watcher, std::move(differences), std::max(history.front().state->revision, revision),
               *known);
  }
  const std::scoped_lock lock(my.mutex);
  ZOO_TRY(const auto now, state());
  if (now != known) Impl::tell(watcher, compare_all(watcher, *known, *now), known->revision, *now);
  watcher.known = now;
  const auto place = my.watchers.insert(my.watchers.end(), std::move(watcher));
  for (const auto& key : place->keys)
    my.by_subject.emplace(key, &*place);
  return std::make_unique<Impl::Subscribed>(impl_, place);
}

bool Views::wait(const std::function<bool(const State&)>& holds,
                 std::chrono::milliseconds most) const {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, most, [&] {
    const auto state = impl_->current.load();
    return state != nullptr && !state->trouble && holds(*state);
  });
}

authz::User user_of(const resources::Who& who) {
  return {who.name, who.uid, who.groups, who.extra};
}

} // namespace zoo::accounts
