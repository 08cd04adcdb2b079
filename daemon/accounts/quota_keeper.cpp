// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_keeper.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using quota::ResourceList;
using std::chrono::milliseconds;

// Keys of the queue: a kind, a slash and an account's name.
constexpr std::string_view k_slices = "slices", k_quota_status = "status";
/// Between two looks while kube-controller-manager has not counted what is there.
constexpr milliseconds k_until_counted{250};

std::string collection(std::string_view space) {
  return kube::path({"api", "v1", "namespaces", space, "resourcequotas"});
}
std::string path_of(std::string_view space, std::string_view name) {
  return collection(space) + kube::path({name});
}
std::string quota_path(std::string_view name) {
  return kube::path({"apis", k_config_group, k_version, "accountquotas", name});
}

json as_json(const ResourceList& list) { return json::parse(quota::resources_json(list)); }

/// Of these names what `list` has; of the others nothing.
ResourceList of_names(const ResourceList& list, const ResourceList& names) {
  ResourceList out;
  for (const auto& [name, amount] : names) {
    const auto found = list.find(name);
    out.insert_or_assign(name, found == list.end() ? kube::Quantity{} : found->second);
  }
  return out;
}

/// Has upstream counted what there is under each name?
bool counted(const quota::Slice& slice, const ResourceList& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const auto& entry) { return slice.used.contains(entry.first); });
}

bool has_names(const ResourceList& list, const ResourceList& names) {
  return list.size() == names.size() &&
         std::equal(list.begin(), list.end(), names.begin(),
                    [](const auto& a, const auto& b) { return a.first == b.first; });
}

} // namespace

QuotaKeeper::QuotaKeeper(const WriteParts& parts, upstream::Connections& connections,
                         QuotaTable& table, QuotaSettings settings)
    : parts_(parts), connections_(connections), table_(table), settings_(std::move(settings)),
      queue_(reconcile::Queue::Pauses{}, settings_.now), runner_(reconciler(), queue_) {}

reconcile::Reconciler QuotaKeeper::reconciler() {
  reconcile::Reconciler out;
  out.name = "quotas";
  out.look = [this](const std::string& key, unsigned) {
    const auto api = connections_.take();
    return look(*api, key);
  };
  out.failed = [](const std::string& key, const Error& error) {
    // Another writer was faster, or upstream is away: it is tried again at once.
    const bool passes = error.code() == Code::unavailable || error.code() == Code::conflict;
    log::at(passes ? LogLevel::debug : LogLevel::warning, "accounts", "quota {}: {}", key,
            error.text());
  };
  out.settled = settings_.resync / 2;
  out.retry = settings_.retry;
  return out;
}

void QuotaKeeper::start() { runner_.start(settings_.threads); }

void QuotaKeeper::touched(std::string_view account) {
  if (account.empty()) return;
  queue_.add(fmt::format("{}/{}", k_slices, account), settings_.settle);
}

std::vector<std::string> QuotaKeeper::spaces_of(const State& state,
                                                std::string_view account) const {
  std::vector<std::string> out;
  if (const auto known = state.spaces_of_account.find(account))
    out.assign(known->names.begin(), known->names.end());
  return out;
}

Result<QuotaKeeper::Next> QuotaKeeper::look(upstream::ControlApi& api, const std::string& key) {
  const auto slash = key.find('/');
  const auto account = key.substr(slash + 1);
  if (key.starts_with(k_quota_status)) return look_at_status(api, account);
  return look_at_slices(api, account);
}

Result<QuotaKeeper::Next> QuotaKeeper::look_at_slices(upstream::ControlApi& api,
                                                      const std::string& name) {
  ZOO_TRY(const auto state, parts_.state());
  const auto account = state->accounts.find(name);
  // The slices of an Account that is gone go with it, as their owner.
  if (!account || account->deleting) return Next{};
  const auto limits = quota::limits_of(table_.quotas_of(name));
  ZOO_TRY_VOID(remove_strays(api, *state, name, limits));
  const auto spaces = spaces_of(*state, name);
  bool all_counted = true;
  for (const auto& limit : limits) {
    for (const auto& space : spaces) {
      const auto known = state->spaces.find(space);
      if (!known || known->phase == "Terminating" || table_.slice(space, limit.slice_name))
        continue;
      ZOO_TRY_VOID(make(api, limit, space, *account));
    }
    ZOO_TRY(const auto complete, share_out(api, limit, spaces, name));
    all_counted = all_counted && complete;
  }
  queue_.add(fmt::format("{}/{}", k_quota_status, name), settings_.status);
  if (!all_counted) return Next{k_until_counted, true};
  // What was kept free for a wish is for all again when that is over.
  if (std::any_of(spaces.begin(), spaces.end(),
                  [this](const std::string& space) { return !table_.wanted(space).empty(); }))
    return Next{k_wish, true};
  if (limits.empty()) return Next{};
  return Next{reconcile::jittered(settings_.resync)};
}

/// A slice with which nothing may be used: until upstream has counted what is there, nobody knows
/// how much that is.
Result<void> QuotaKeeper::make(upstream::ControlApi& api, const quota::Limit& limit,
                               const std::string& space, const Account& account) {
  const auto none = of_names({}, limit.hard);
  json wanted = {{"apiVersion", "v1"},
                 {"kind", "ResourceQuota"},
                 {"metadata", kept_metadata(space, limit.slice_name, account)},
                 {"spec", json::parse(quota::slice_spec(limit, none))}};
  auto made = api.create(collection(space), wanted);
  if (!made && made.error().code() == Code::already_exists) {
    // Ours, not heard of yet; or one that somebody has put in its place.
    ZOO_TRY(made, api.get(path_of(space, limit.slice_name)));
    if (!table_.put_slice(text_of(*made)).empty() || table_.slice(space, limit.slice_name))
      return {};
    ZOO_TRY_VOID(
        api.remove_read(path_of(space, limit.slice_name), text_at(*made, "/metadata/uid")));
    ZOO_TRY(made, api.create(collection(space), wanted));
  }
  if (!made && made.error().code() == Code::not_found) return {}; // the space has gone
  if (!made) return fail(std::move(made).error().context("while making the quota of {}", space));
  table_.put_slice(text_of(*made));
  // A ResourceQuota without a status holds nobody back (its admission plugin goes by status.hard).
  auto counted_none = *made;
  counted_none["status"] = {{"hard", as_json(none)}};
  auto put = api.update(path_of(space, limit.slice_name) + "/status", counted_none);
  if (put) table_.put_slice(text_of(*put));
  // Upstream's controller was faster, and has written the same.
  if (!put && put.error().code() != Code::conflict) return fail(std::move(put).error());
  return {};
}

/// Slices of limits that are no more, or in spaces that are another's.
Result<void> QuotaKeeper::remove_strays(upstream::ControlApi& api, const State& state,
                                        const std::string& account,
                                        const std::vector<quota::Limit>& limits) {
  for (const auto& known : table_.slices_of(account)) {
    const auto space = state.spaces.find(known.space);
    const bool wanted = std::any_of(limits.begin(), limits.end(), [&](const quota::Limit& limit) {
      return limit.slice_name == known.name;
    });
    if (!space || (wanted && space->account == account)) continue;
    ZOO_TRY_VOID(api.remove(path_of(known.space, known.name)));
    table_.remove_slice(known.space, known.name);
  }
  return {};
}

/// What is to be lowered first, then, from what has become free by that, what is to be raised.
/// False: upstream has not counted yet what is in some space, which gets nothing until then.
Result<bool> QuotaKeeper::share_out(upstream::ControlApi& api, const quota::Limit& limit,
                                    const std::vector<std::string>& spaces,
                                    const std::string& account) {
  quota::Slices slices;
  std::map<std::string, KnownSlice, std::less<>> known;
  bool complete = true;
  for (const auto& space : spaces) {
    auto one = table_.slice(space, limit.slice_name);
    // Another account's slice, which that one removes; or none, in a space that goes.
    if (!one || one->account != account) {
      complete = complete && !one;
      continue;
    }
    if (!has_names(one->slice.spec, limit.hard)) {
      // The limit has other names than before.
      ZOO_TRY_VOID(write(api, limit, *one, of_names(one->slice.hard, limit.hard)));
      one = table_.slice(space, limit.slice_name);
      if (!one) continue;
    }
    auto& slice = slices[space];
    slice = one->slice;
    slice.wanted = quota::only(table_.wanted(space), limit.hard);
    complete = complete && counted(slice, limit.hard);
    known.emplace(space, *std::move(one));
  }
  const auto targets = quota::distribute(limit.hard, slices);
  for (auto& [space, slice] : slices) {
    const auto& target = targets.at(space);
    auto lower = of_names(slice.hard, limit.hard);
    bool changes = false;
    for (auto& [name, amount] : lower) {
      const auto goal = target.at(name);
      const auto spec = of_names(slice.spec, limit.hard).at(name);
      changes = changes || goal < std::max(amount, spec);
      amount = std::min(amount, goal);
    }
    if (!changes) continue;
    ZOO_TRY_VOID(write(api, limit, known.at(space), lower));
    known.insert_or_assign(space, *table_.slice(space, limit.slice_name));
    slice.spec = slice.hard = lower;
  }
  // Only what the slices leave after that is free: not what they were meant to leave.
  auto free = quota::beyond(limit.hard, of_names(quota::taken(slices), limit.hard));
  for (auto& [space, slice] : slices) {
    if (!counted(slice, limit.hard)) continue;
    auto raised = of_names(slice.hard, limit.hard);
    bool changes = false;
    for (auto& [name, amount] : raised) {
      auto& left = free[name];
      const auto more = std::min(targets.at(space).at(name) - amount, left);
      if (more <= kube::Quantity{}) continue;
      amount += more;
      left -= more;
      changes = true;
    }
    if (!changes) continue;
    ZOO_TRY_VOID(write(api, limit, known.at(space), raised));
  }
  return complete;
}

/// status.hard first, which is what holds, then spec.hard, which kube-controller-manager copies
/// into it at any moment. Each is a compare-and-swap: Code::conflict, and the look begins anew.
Result<void> QuotaKeeper::write(upstream::ControlApi& api, const quota::Limit& limit,
                                const KnownSlice& known, const ResourceList& hard) {
  const auto path = path_of(known.space, known.name);
  auto object = json::parse(known.object, nullptr, false);
  if (!object.is_object()) return fail(Code::internal, "{} is no object", path);
  object["apiVersion"] = "v1";
  object["kind"] = "ResourceQuota";
  const auto put = [&](const std::string& where) -> Result<void> {
    auto written = api.update(where, object);
    if (written) {
      table_.put_slice(text_of(*written));
      object = *std::move(written);
      return {};
    }
    const auto code = written.error().code();
    if (code == Code::not_found) {
      table_.remove_slice(known.space, known.name);
      return fail(Code::conflict, "{} is gone", path);
    }
    if (code == Code::conflict) {
      // The next look must not go by what is known to be old.
      if (const auto live = api.get(path)) table_.put_slice(text_of(*live));
    }
    return fail(std::move(written).error());
  };
  object["status"]["hard"] = as_json(hard);
  auto used = of_names(known.slice.used, hard);
  std::erase_if(used, [&](const auto& entry) { return !known.slice.used.contains(entry.first); });
  object["status"]["used"] = as_json(used);
  ZOO_TRY_VOID(put(path + "/status"));
  object["spec"] = json::parse(quota::slice_spec(limit, hard));
  return put(path);
}

Result<void> QuotaKeeper::furnish(upstream::ControlApi& api, const std::string& space,
                                  const Account& account) {
  const auto limits = quota::limits_of(table_.quotas_of(account.name));
  for (const auto& limit : limits)
    ZOO_TRY_VOID(make(api, limit, space, account));
  if (limits.empty()) return {};
  touched(account.name);
  const auto has_room = [&] {
    return std::all_of(limits.begin(), limits.end(), [&](const quota::Limit& limit) {
      const auto known = table_.slice(space, limit.slice_name);
      return known && counted(known->slice, limit.hard) &&
             std::any_of(known->slice.hard.begin(), known->slice.hard.end(),
                         [](const auto& entry) { return !entry.second.zero(); });
    });
  };
  // An account that has used up what it may have makes spaces all the same, with no room in them.
  if (!table_.wait(has_room, settings_.furnish))
    log::debug("accounts", "space {} begins without room in its quota", space);
  return {};
}

/// The status of each AccountQuota of the account: what is used, in all and space by space.
Result<QuotaKeeper::Next> QuotaKeeper::look_at_status(upstream::ControlApi& api,
                                                      const std::string& account) {
  for (const auto& quota : table_.quotas_of(account)) {
    const quota::QuotaSpec only_this[] = {quota};
    const auto limits = quota::limits_of(only_this);
    if (limits.empty()) continue;
    const auto& limit = limits.front();
    ResourceList used;
    auto spaces = json::array();
    for (const auto& known : table_.slices_of(account)) {
      if (known.name != limit.slice_name) continue;
      const auto here = of_names(known.slice.used, limit.hard);
      quota::add(used, here);
      spaces.push_back(
          {{"namespace", known.space},
           {"status",
            {{"hard", as_json(of_names(known.slice.hard, limit.hard))}, {"used", as_json(here)}}}});
    }
    const json status = {
        {"total", {{"hard", as_json(limit.hard)}, {"used", as_json(of_names(used, limit.hard))}}},
        {"namespaces", spaces}};
    ZOO_TRY(auto live, api.get(quota_path(quota.name)));
    if (live.value("status", json::object()) == status) continue;
    live["status"] = status;
    const auto done = api.update(quota_path(quota.name) + "/status", live);
    if (!done && done.error().code() != Code::not_found) return fail(done.error());
  }
  return Next{};
}

} // namespace zoo::accounts
