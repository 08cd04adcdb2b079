// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/controller.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "daemon/accounts/account_events.hpp"
#include "daemon/accounts/account_status.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/accounts/space_templates.hpp"
#include "daemon/upstream/control_api.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Keys of the queue: a kind, a slash and a name.
constexpr std::string_view k_all = "all", k_account = "account", k_status = "status",
                           k_space = "space";
/// Between two accounts that are looked at only for what may have changed unheard.
constexpr milliseconds k_pace = reconcile::Queue::Pauses{}.pace;
/// Up to so many spaces have their bindings read one by one; above it one request reads those of
/// all accounts, which costs upstream a walk over every RoleBinding.
constexpr std::size_t k_most_single = 32;
/// While there are entries in status.pending, somebody may have died.
constexpr milliseconds k_pending{60'000};
/// Until an account is looked at again whose role upstream does not have, or has had for a moment.
constexpr milliseconds k_roles{15'000};

/// Does the namespace carry the annotation that names an account?
bool may_wish(const Space& space) {
  return space.account.empty() &&
         space.object.find(fmt::format("\"{}\"", k_account_label)) != std::string::npos;
}

/// Is what spaces are kept by the same?
bool same_wishes(const Account& a, const Account& b) {
  const auto subjects = [](const Account& account) {
    std::vector<std::string> out;
    const auto add = [&](const std::string& role, const std::vector<authz::Subject>& some) {
      for (const auto& subject : some)
        out.push_back(
            fmt::format("{}/{}/{}/{}", subject.kind, subject.name_space, subject.name, role));
    };
    add({}, account.subjects);
    for (const auto& each : account.roles)
      add(each.cluster_role, each.subjects);
    return out;
  };
  return a.uid == b.uid && subjects(a) == subjects(b) && a.cluster_role == b.cluster_role &&
         a.limit == b.limit && a.space_labels == b.space_labels &&
         a.space_annotations == b.space_annotations && a.reconcile == b.reconcile &&
         a.deletion == b.deletion && a.deleting == b.deleting &&
         wanted_instances(a, {}) == wanted_instances(b, {});
}

} // namespace

Controller::Controller(const WriteParts& parts, Saga& saga, upstream::Connections& connections,
                       ControllerSettings settings)
    : parts_(parts), saga_(saga), connections_(connections), settings_(std::move(settings)),
      queue_(reconcile::Queue::Pauses{}, settings_.now), runner_(reconciler(), queue_) {}

reconcile::Reconciler Controller::reconciler() {
  reconcile::Reconciler out;
  out.name = "spaces";
  out.look = [this](const std::string& key, unsigned) {
    const auto api = connections_.take();
    return look(*api, key);
  };
  out.failed = [](const std::string& key, const Error& error) {
    // While upstream is away, each of many says the same.
    const bool away = error.code() == Code::unavailable || error.code() == Code::conflict;
    log::at(away ? LogLevel::debug : LogLevel::warning, "accounts", "{}: {}", key, error.text());
  };
  out.settled = settings_.resync / 2;
  out.retry = settings_.retry;
  return out;
}

void Controller::start() {
  add(k_all, "", milliseconds(0));
  runner_.start(settings_.threads);
}

void Controller::add(std::string_view kind, std::string_view name, milliseconds delay) {
  queue_.add(fmt::format("{}/{}", kind, name), delay);
}

void Controller::touched(const StatePtr& before, const StatePtr& now, const Touched& touched) {
  if (touched.everything || (before->trouble && !now->trouble)) {
    add(k_all, "", milliseconds(0));
    if (touched.everything) return;
  }
  if (touched.rights.everybody) look_at_all_later();
  const auto account = [&](const std::string& name, std::string_view what, milliseconds delay) {
    if (name.empty()) return;
    const auto known = now->accounts.find(name);
    add(known && known->deleting ? k_account : what, name, delay);
  };
  for (const auto& name : touched.spaces) {
    const auto was = before->spaces.find(name);
    const auto is = now->spaces.find(name);
    if (was) account(was->account, k_status, settings_.settle);
    if (is) account(is->account, k_status, settings_.settle);
    if (is && (!is->account.empty() || (was && !was->account.empty()) || may_wish(*is)))
      add(k_space, name, milliseconds(0));
  }
  for (const auto& name : touched.accounts) {
    const auto was = before->accounts.find(name);
    const auto is = now->accounts.find(name);
    if (is && (!was || !same_wishes(*was, *is))) add(k_account, name, milliseconds(0));
  }
  // Where bindings have changed it may have been ours.
  for (const auto* places : {&touched.rights.namespaces, &touched.rights.open_namespaces}) {
    for (const auto& name : *places) {
      if (const auto space = now->spaces.find(name); space && !space->account.empty())
        add(k_space, name, settings_.hear);
    }
  }
}

/// Everybody's rights may change often, and a look at all of it asks upstream for all bindings.
void Controller::look_at_all_later() {
  const auto now = settings_.now();
  const auto earliest = all_looked_.load() + settings_.rest;
  add(k_all, "",
      std::max(settings_.hear, std::chrono::duration_cast<milliseconds>(earliest - now)));
}

Result<Controller::Next> Controller::look(upstream::ControlApi& api, const std::string& key) {
  const auto slash = key.find('/');
  const auto kind = std::string_view(key).substr(0, slash);
  const auto name = key.substr(slash + 1);
  if (kind == k_all) return look_at_all(api);
  if (kind == k_account) return look_at_account(api, name);
  if (kind == k_status) return look_at_status(api, name);
  return look_at_space(api, name);
}

Result<Controller::Next> Controller::look_at_all(upstream::ControlApi& api) {
  all_looked_ = settings_.now();
  ZOO_TRY(const auto state, parts_.state());
  milliseconds delay{0};
  state->accounts.visit("", [&](const AccountPtr& account) {
    add(k_account, account->name, delay);
    delay += k_pace;
    return true;
  });
  state->spaces.visit("", [&](const SpacePtr& space) {
    if (space->initializing || may_wish(*space)) add(k_space, space->name, milliseconds(0));
    return true;
  });
  // Bindings in spaces that are nobody's any more, or another's.
  ZOO_TRY(const auto bindings, bindings_in(api, ""));
  for (const auto& [name, of_one] : bindings) {
    const auto space = state->spaces.find(name);
    if (!space) continue;
    const bool others = std::any_of(of_one.begin(), of_one.end(), [&](const json& binding) {
      return text_at(binding, k_account_label_at) != space->account;
    });
    if (others) add(k_space, name, milliseconds(0));
  }
  return Next{};
}

Result<Bindings> Controller::bindings_of(upstream::ControlApi& api, const NameSet& spaces) const {
  if (spaces.names.size() > k_most_single) return bindings_in(api, "");
  Bindings out;
  for (const auto& name : spaces.names) {
    ZOO_TRY(auto one, bindings_in(api, name));
    out.merge(one);
  }
  return out;
}

Result<Controller::Next> Controller::look_at_account(upstream::ControlApi& api,
                                                     const std::string& name) {
  ZOO_TRY(const auto state, parts_.state());
  auto read = fetch_account(api, name);
  if (!read && read.error().code() == Code::not_found) return Next{};
  if (!read) return fail(std::move(read).error());
  const auto account = *std::move(read);
  if (account->deleting) return look_at_deleted(api, *account);
  ZOO_TRY_VOID(set_finalizer(api, *account, true));
  const auto members = members_of(account, parts_.default_cluster_role);
  static const NameSet none;
  const auto known = state->spaces_of_account.find(name);
  const auto& spaces = known ? *known : none;
  ZOO_TRY(const auto bindings, bindings_of(api, spaces));
  std::optional<Error> broken;
  for (const auto& space_name : spaces.names) {
    const auto space = state->spaces.find(space_name);
    if (!space) continue;
    const auto found = bindings.find(space_name);
    auto kept =
        keep(api, *space, found != bindings.end() ? found->second : std::vector<json>{}, members);
    if (kept || broken) continue;
    broken = std::move(kept).error().context("while keeping space {}", space_name);
  }
  Found result;
  result.spaces.insert(spaces.names.begin(), spaces.names.end());
  result.now = parts_.now();
  result.looked = true;
  // What passes is not told: it is tried again in a moment.
  if (broken && !may_pass(broken->code())) result.broken = broken->text();
  if (broken && may_pass(broken->code())) result.looked = false;
  const auto without =
      state->rights ? missing_roles(*state->rights, members) : std::vector<std::string>();
  if (!without.empty())
    result.without_rights = fmt::format(
        "there is no ClusterRole \"{}\": who is bound to it has no rights in the spaces",
        fmt::join(without, "\" and no \""));
  result.grace = 3 * parts_.grace.count();
  result.deadline = parts_.deadline.count();
  bool pending = false;
  ZOO_TRY_VOID(change_status(api, name, [&](json& status, const Account& now) -> Result<bool> {
    const bool changed = update_status(status, now, result);
    pending = status.contains("pending");
    return changed;
  }));
  if (broken) return fail(*std::move(broken));
  const auto resync = std::max(settings_.resync, k_pace * static_cast<std::int64_t>(queue_.size()));
  if (!without.empty()) return Next{k_roles, true};
  if (pending) return Next{k_pending, true};
  return Next{reconcile::jittered(resync)};
}

Result<Controller::Next> Controller::look_at_status(upstream::ControlApi& api,
                                                    const std::string& name) {
  ZOO_TRY(const auto state, parts_.state());
  Found result;
  if (const auto known = state->spaces_of_account.find(name))
    result.spaces.insert(known->names.begin(), known->names.end());
  result.now = parts_.now();
  result.grace = 3 * parts_.grace.count();
  result.deadline = parts_.deadline.count();
  bool pending = false;
  const auto done = change_status(api, name, [&](json& status, const Account& now) -> Result<bool> {
    if (now.deleting) return false; // look_at_deleted() tells
    const bool changed = update_status(status, now, result);
    pending = status.contains("pending");
    return changed;
  });
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  return pending ? Next{k_pending, true} : Next{};
}

Result<void> Controller::keep(upstream::ControlApi& api, const Space& space,
                              const std::vector<json>& bindings, const Members& members) {
  if (space.initializing || space.phase == "Terminating") return {};
  ZOO_TRY_VOID(keep_bindings(api, space, bindings, members));
  if (!members.account->reconcile) return {};
  if (parts_.keep_templates)
    ZOO_TRY_VOID(parts_.keep_templates(api, space.name, members.account.get()));
  return keep_template(api, space, *members.account);
}

/// What the State says of the owner may be old. Access is given and taken only if it is so
/// upstream, too; if not, the change is heard of soon, and the space looked at again.
Result<void> Controller::keep_bindings(upstream::ControlApi& api, const Space& space,
                                       std::vector<json> bindings, const Members& members) {
  if (bindings_are_right(bindings, space.name, members)) return {};
  const auto live = api.get(namespace_path(space.name));
  if (!live && live.error().code() == Code::not_found) return {};
  if (!live) return fail(live.error());
  if (text_at(*live, "/metadata/uid") != space.uid ||
      text_at(*live, k_account_label_at) != space.account)
    return {};
  return put_bindings_right(api, space.name, std::move(bindings), members);
}

Result<void> Controller::keep_template(upstream::ControlApi& api, const Space& space,
                                       const Account& account) {
  const auto object = json::parse(space.object, nullptr, false);
  json wanted = json::object();
  for (const auto& [member, from] : {std::pair{"labels", &account.space_labels},
                                     std::pair{"annotations", &account.space_annotations}}) {
    for (const auto& [key, value] : *from) {
      if (!for_templates(key)) continue;
      const auto at = json::json_pointer("/metadata") / member / key;
      if (!object.contains(at) || object.at(at) != value) wanted[member][key] = value;
    }
  }
  if (wanted.empty()) return {};
  wanted["uid"] = space.uid;
  wanted["resourceVersion"] = std::to_string(space.revision);
  ZOO_TRY_VOID(api.merge_patch(namespace_path(space.name), {{"metadata", std::move(wanted)}}));
  return {};
}

Result<Controller::Next> Controller::look_at_space(upstream::ControlApi& api,
                                                   const std::string& name) {
  ZOO_TRY(const auto state, parts_.state());
  const auto space = state->spaces.find(name);
  if (!space || space->phase == "Terminating") return Next{};
  if (space->initializing) return look_at_half_made(api, *space);
  if (space->account.empty()) {
    const auto wish = annotation_of(json::parse(space->object, nullptr, false), k_account_label);
    if (!wish.empty()) {
      ZOO_TRY_VOID(adopt(api, *space, wish));
      return Next{};
    }
  }
  ZOO_TRY(auto found, bindings_in(api, name));
  auto bindings = std::move(found[name]);
  AccountPtr account;
  if (!space->account.empty()) {
    auto read = fetch_account(api, space->account);
    if (!read && read.error().code() != Code::not_found) return fail(std::move(read).error());
    if (read) {
      account = *std::move(read);
      if (account->deleting) return Next{};
    }
  }
  if (account) {
    auto kept = keep(api, *space, bindings, members_of(account, parts_.default_cluster_role));
    if (kept) return Next{};
    if (may_pass(kept.error().code())) return fail(std::move(kept).error());
    // A look at all of it comes to the same, says so in its condition Ready, and is repeated.
    add(k_account, account->name, milliseconds(0));
    return Next{};
  }
  // Nobody owns it; or its label names an account that is not there, whose own bindings stay.
  std::erase_if(bindings, [&](const json& binding) {
    return !space->account.empty() && text_at(binding, k_account_label_at) == space->account;
  });
  ZOO_TRY_VOID(keep_bindings(api, *space, std::move(bindings), {}));
  if (space->account.empty() && parts_.keep_templates)
    ZOO_TRY_VOID(parts_.keep_templates(api, name, nullptr));
  return Next{};
}

Result<Controller::Next> Controller::look_at_half_made(upstream::ControlApi& api,
                                                       const Space& space) {
  const auto known = json::parse(space.object, nullptr, false);
  const auto request = SpaceRequest::read(annotation_of(known, k_space_request));
  if (!request) return Next{}; // kiosk's own, or somebody's: not ours to go on with
  // Whoever makes it may be at work.
  const auto age = std::chrono::seconds(parts_.now() - request->started);
  if (saga_.held(space.name) || age < parts_.grace)
    return Next{std::max<milliseconds>(parts_.grace - age, milliseconds(500)), true};
  const auto live = api.get(namespace_path(space.name));
  if (!live && live.error().code() == Code::not_found) return Next{};
  if (!live) return fail(live.error());
  if (text_at(*live, "/metadata/uid") != space.uid) return Next{};
  log::info("accounts", "space {} of account {} is half made: going on with it", space.name,
            request->account);
  const auto done = saga_.finish(api, *live, true);
  if (!done && may_pass(done.error().code()) &&
      text_at(*live, "/metadata/deletionTimestamp").empty())
    return fail(done.error());
  return Next{};
}

/// kiosk's documented annotation names an owner where no label does: it becomes the label.
Result<void> Controller::adopt(upstream::ControlApi& api, const Space& space,
                               const std::string& account) {
  const auto live = fetch_account(api, account);
  if (!live && live.error().code() != Code::not_found) return fail(live.error());
  if (!live || (*live)->deleting) {
    log::warning("accounts", "namespace {} asks for account {}, which is not there", space.name,
                 account);
    return {};
  }
  const auto room = parts_.room ? parts_.room(account, space.name) : Result<void>();
  const auto reserved = room ? reserve(api, {account, space.name, "", parts_.now()}, false)
                             : Result<Reserved>(fail(room.error()));
  if (!reserved && may_pass(reserved.error().code())) return fail(reserved.error());
  if (!reserved) {
    log::warning("accounts", "namespace {} is not adopted: {}", space.name,
                 reserved.error().text());
    bool news = false;
    ZOO_TRY_VOID(change_status(api, account, [&](json& status, const Account&) -> Result<bool> {
      const auto before = status;
      note_failed_space(status, space.name, "", reserved.error().message(), parts_.now());
      news = status != before;
      return news;
    }));
    if (news)
      tell_event(api, **live, "SpaceNotAdopted",
                 fmt::format("namespace \"{}\" is not adopted: {}", space.name,
                             reserved.error().message()),
                 parts_.now());
    return {};
  }
  const auto done = api.merge_patch(namespace_path(space.name),
                                    {{"metadata",
                                      {{"uid", space.uid},
                                       {"resourceVersion", std::to_string(space.revision)},
                                       {"labels", {{k_account_label, account}}},
                                       {"annotations", {{k_account_label, nullptr}}}}}});
  // If it may have been written all the same, the entry stays until the deadline.
  const bool clear =
      done || done.error().code() == Code::conflict || !may_pass(done.error().code());
  if (clear) ZOO_TRY_VOID(release(api, account, reserved->id));
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  return {};
}

} // namespace zoo::accounts
