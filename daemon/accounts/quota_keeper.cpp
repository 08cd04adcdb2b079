// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_keeper.hpp"

#include "common/base/error_table.hpp"
#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/paths.hpp"
#include "daemon/accounts/quota_json.hpp"
#include "daemon/quota/moves.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/outright.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using quota::counted;
using quota::of_names;
using quota::ResourceList;
using std::chrono::milliseconds;

// Keys of the queue: a kind, a slash and an account's name.
constexpr std::string_view k_slices = "slices", k_quota_status = "status", k_doubts = "doubts";
/// Annotation of a slice: which run of zood has it in hand. A write of one that was killed meets
/// another resourceVersion, and fails.
const json::json_pointer k_epoch_at("/metadata/annotations/zoo.kubezoo.io~1epoch");
/// Of one account, that are looked for one by one before it is refused anything.
constexpr std::size_t k_most_doubts = 32;
/// Between two looks while kube-controller-manager has not counted what is there.
constexpr milliseconds k_until_counted{250};

std::string new_epoch() {
  const auto bytes = crypto::random_bytes(8);
  return bytes ? crypto::base64url_encode(*bytes)
               : std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
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
      epoch_(new_epoch()), queue_(reconcile::Queue::Pauses{}, settings_.now),
      runner_(reconciler(), queue_) {}

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

void QuotaKeeper::touched(std::string_view owner) {
  if (owner.empty()) return;
  queue_.add(fmt::format("{}/{}", k_slices, owner), settings_.settle);
}

void QuotaKeeper::lead(bool leads) {
  if (leads_.exchange(leads) == leads || !leads) return;
  for (const auto& owner : table_.owners())
    hurry(owner);
}

void QuotaKeeper::hurry(std::string_view owner) {
  queue_.add(fmt::format("{}/{}", k_slices, owner), milliseconds(0));
}

void QuotaKeeper::doubt(std::string_view owner) {
  queue_.add(fmt::format("{}/{}", k_doubts, owner), milliseconds(0));
}

void QuotaKeeper::recount(std::string_view owner) {
  {
    const std::lock_guard lock(mutex_);
    recounts_.emplace(owner);
  }
  hurry(owner);
}

quota::Owner QuotaKeeper::owner_of(const State& state, const std::string& name) const {
  return quota_owner(state, table_, parts_.tenants, name);
}

/// Tells the broker which namespaces share this owner's limits, and which kinds it has to count for
/// them.
void QuotaKeeper::tell_broker(const std::string& name, const quota::Owner& owner) {
  if (broker_.broker == nullptr) return;
  const bool same = broker_.broker->read([&](const quota::Judge& judge) {
    const auto* known = judge.owner(name);
    return known == nullptr ? owner.limits.empty() : *known == owner;
  });
  if (!same)
    broker_.broker->with([&](quota::Judge& judge) {
      judge.set_owner(name, owner, std::chrono::steady_clock::now());
    });
  Told told;
  for (const auto& limit : owner.limits)
    for (const auto& [counts, amount] : limit.hard)
      told.names.insert(counts);
  for (const auto& [space, prefix] : owner.prefixes)
    told.tenants.insert(prefix.substr(0, prefix.size() - 1));
  Names all, accounts, tenants;
  // The lock is held to the end: of two threads the one that has the newer sets tells them last.
  const std::lock_guard lock(mutex_);
  const auto known = told_.find(name);
  if (known == told_.end() ? told.names.empty() : known->second == told) return;
  if (told.names.empty()) {
    told_.erase(name);
  } else {
    told_.insert_or_assign(name, std::move(told));
  }
  for (const auto& [one, of_one] : told_) {
    all.insert(of_one.names.begin(), of_one.names.end());
    tenants.insert(of_one.tenants.begin(), of_one.tenants.end());
    if (tenant_of_owner(one).empty()) accounts.insert(one);
  }
  broker_.count(all);
  broker_.owners(accounts, tenants);
}

Result<QuotaKeeper::Next> QuotaKeeper::look(upstream::ControlApi& api, const std::string& key) {
  const auto slash = key.find('/');
  const auto owner = key.substr(slash + 1);
  if (key.starts_with(k_quota_status))
    return leads_ ? look_at_status(api, owner) : Result<Next>(Next{});
  if (key.starts_with(k_doubts)) return look_for_doubts(api, owner);
  return look_at_slices(api, owner);
}

Result<QuotaKeeper::Next> QuotaKeeper::look_at_slices(upstream::ControlApi& api,
                                                      const std::string& name) {
  ZOO_TRY(const auto state, parts_.state());
  const auto owner = owner_of(*state, name);
  tell_broker(name, owner);
  if (!leads_) return Next{};
  ZOO_TRY_VOID(remove_strays(api, *state, name, owner));
  bool all_counted = true;
  const bool anew = [&] {
    const std::lock_guard lock(mutex_);
    return recounts_.erase(name) != 0;
  }();
  // A limit that upstream refuses is told of in the status, and keeps no other from being held.
  std::optional<Error> first;
  std::map<std::string, std::string, std::less<>> refused;
  for (const auto& limit : owner.limits) {
    const auto complete = hold(api, *state, limit, owner, name, anew);
    all_counted = all_counted && complete && *complete;
    if (complete) continue;
    if (!may_pass(complete.error().code()))
      refused.insert_or_assign(limit.slice_name, complete.error().message());
    if (!first) first = complete.error();
  }
  {
    const std::lock_guard lock(mutex_);
    refused.empty() ? (void)refused_.erase(name)
                    : (void)refused_.insert_or_assign(name, std::move(refused));
  }
  if (owner.kind == quota::OwnerKind::account)
    queue_.add(fmt::format("{}/{}", k_quota_status, name), settings_.status);
  if (first) return fail(*std::move(first));
  if (!all_counted) return Next{k_until_counted, true};
  // What was kept free for a wish is for all again when that is over.
  if (std::any_of(owner.spaces.begin(), owner.spaces.end(),
                  [this](const std::string& space) { return !table_.wanted(space).empty(); }))
    return Next{k_wish, true};
  if (owner.limits.empty()) return Next{};
  return Next{reconcile::jittered(settings_.resync)};
}

/// One limit: each of the owner's namespaces has a slice of it.
Result<bool> QuotaKeeper::hold(upstream::ControlApi& api, const State& state,
                               const quota::Limit& limit, const quota::Owner& owner,
                               const std::string& name, bool anew) {
  std::optional<Error> first; // one namespace without a slice keeps no other from having one
  for (const auto& space : owner.spaces) {
    if (!state.stays(space) || table_.slice(space, limit.slice_name)) continue;
    const auto made = make(api, state, limit, space, name, owner.prefixes.contains(space));
    if (!made && may_pass(made.error().code())) return fail(made.error());
    if (!made && !first) first = made.error();
  }
  auto shared = share_out(api, limit, owner.spaces, name, anew);
  if (shared && first) return fail(*std::move(first));
  return shared;
}

std::string QuotaKeeper::refusal_of(const std::string& owner, const std::string& slice_name) {
  const std::lock_guard lock(mutex_);
  const auto found = refused_.find(owner);
  if (found == refused_.end()) return {};
  const auto said = found->second.find(slice_name);
  return said == found->second.end() ? std::string() : said->second;
}

/// A slice with which nothing may be used: until upstream has counted what is there, nobody knows
/// how much that is.
Result<void> QuotaKeeper::make(upstream::ControlApi& api, const State& state,
                               const quota::Limit& limit, const std::string& space,
                               const std::string& owner, bool in_tenant) {
  const auto none = of_names({}, limit.hard);
  json wanted = {{"apiVersion", "v1"},
                 {"kind", "ResourceQuota"},
                 {"metadata", slice_metadata(state, owner, space, limit.slice_name, in_tenant)},
                 {"spec", json::parse(quota::slice_spec(limit, none))}};
  wanted[k_epoch_at] = epoch_; // else the first look would write it once more
  auto made = api.create(resource_quotas_path(space), wanted);
  if (!made && made.error().code() == Code::already_exists) {
    // Ours, not heard of yet; or one that somebody has put in its place.
    ZOO_TRY(made, api.get(resource_quota_path(space, limit.slice_name)));
    if (!table_.put_slice(text_of(*made)).empty() || table_.slice(space, limit.slice_name))
      return {};
    ZOO_TRY_VOID(upstream::remove_outright(api, resource_quota_path(space, limit.slice_name),
                                           text_at(*made, "/metadata/uid")));
    ZOO_TRY(made, api.create(resource_quotas_path(space), wanted));
  }
  if (!made && made.error().code() == Code::not_found) return {}; // the space has gone
  if (!made) return fail(std::move(made).error().context("while making the quota of {}", space));
  table_.put_slice(text_of(*made));
  // A ResourceQuota without a status holds nobody back (its admission plugin goes by status.hard).
  auto counted_none = *made;
  counted_none["status"] = {{"hard", as_json(none)}};
  auto put = api.update(resource_quota_path(space, limit.slice_name) + "/status", counted_none);
  if (put) table_.put_slice(text_of(*put));
  // Upstream's controller was faster, and has written the same.
  if (!put && put.error().code() != Code::conflict) return fail(std::move(put).error());
  return {};
}

/// Slices of limits that are no more, or in namespaces that are another's.
Result<void> QuotaKeeper::remove_strays(upstream::ControlApi& api, const State& state,
                                        const std::string& name, const quota::Owner& owner) {
  for (const auto& known : table_.slices_of(name)) {
    const bool there = state.spaces.find(known.space) || state.tenant_spaces.find(known.space);
    const bool wanted =
        std::any_of(owner.limits.begin(), owner.limits.end(),
                    [&](const quota::Limit& limit) { return limit.slice_name == known.name; });
    if (!there || (wanted && owner.spaces.contains(known.space))) continue;
    ZOO_TRY_VOID(api.remove(resource_quota_path(known.space, known.name)));
    table_.remove_slice(known.space, known.name);
  }
  return {};
}

/// What is to be lowered first, then, from what has become free by that, what is to be raised.
/// False: upstream has not counted yet what is in some space, which gets nothing until then.
Result<bool> QuotaKeeper::share_out(upstream::ControlApi& api, const quota::Limit& limit,
                                    const std::set<std::string, std::less<>>& spaces,
                                    const std::string& owner, bool anew) {
  quota::Slices slices, asked; // as they are; and with what was let in, and what waits
  std::map<std::string, KnownSlice, std::less<>> known;
  bool complete = true;
  for (const auto& space : spaces) {
    auto one = table_.slice(space, limit.slice_name);
    // Another owner's slice, which that one removes; or none, in a namespace that goes.
    if (!one || one->owner != owner) {
      complete = complete && !one;
      continue;
    }
    ZOO_TRY(one, make_ours(api, *one));
    if (!has_names(one->slice.spec, limit.hard)) {
      // The limit has other names than before.
      ZOO_TRY_VOID(write(api, limit, *one, of_names(one->slice.hard, limit.hard)));
      one = table_.slice(space, limit.slice_name);
      if (!one) continue;
    }
    ZOO_TRY_VOID(repair(api, *one, anew));
    one = table_.slice(space, limit.slice_name);
    if (!one) continue;
    slices[space] = one->slice;
    complete = complete && counted(one->slice, limit.hard);
    auto& with = asked[space] = one->slice;
    with.wanted = quota::only(table_.wanted(space), limit.hard);
    if (broker_.broker != nullptr)
      with = broker_.broker->read([&](const quota::Judge& judge) {
        return judge.with_asked(space, limit.slice_name, std::move(with));
      });
    known.emplace(space, *std::move(one));
  }
  const auto targets = quota::distribute(limit.hard, asked);
  for (const auto& move : quota::lowered(limit.hard, slices, targets)) {
    ZOO_TRY_VOID(lower(api, limit, known.at(move.space), move.hard));
    const auto now = table_.slice(move.space, limit.slice_name);
    if (!now) return fail(Code::conflict, "the slice in {} is gone", move.space);
    known.insert_or_assign(move.space, *now);
    slices[move.space] = now->slice;
  }
  // Only what the slices leave after that is free: not what they were meant to leave.
  for (const auto& move : quota::raised(limit.hard, slices, targets))
    ZOO_TRY_VOID(write(api, limit, known.at(move.space), move.hard));
  return complete;
}

Result<json> QuotaKeeper::put(upstream::ControlApi& api, const KnownSlice& known,
                              const std::string& path, const json& object) {
  auto written = api.update(path, object);
  const auto note = [&](const json& slice) {
    const auto read = read_known_slice(text_of(slice));
    if (!read) return;
    table_.put_slice(*read);
    if (broker_.broker == nullptr) return;
    broker_.broker->with([&](quota::Judge& judge) {
      judge.slice_written(read->space, read->name, read->revision, read->slice,
                          std::chrono::steady_clock::now());
    });
  };
  if (written) {
    note(*written);
    return written;
  }
  if (written.error().code() == Code::not_found) {
    table_.remove_slice(known.space, known.name);
    return fail(Code::conflict, "{} is gone", path);
  }
  // The next look must not go by what is known to be old.
  if (written.error().code() == Code::conflict)
    if (const auto live = api.get(resource_quota_path(known.space, known.name))) note(*live);
  return written;
}

/// What a zood before this one has under way must not come through behind the first look: its
/// writes name the resourceVersion of before.
Result<KnownSlice> QuotaKeeper::make_ours(upstream::ControlApi& api, const KnownSlice& known) {
  auto object = json::parse(known.object, nullptr, false);
  if (!object.is_object()) return fail(Code::internal, "a slice in {} is no object", known.space);
  if (object.value(k_epoch_at, std::string()) == epoch_) return known;
  object["apiVersion"] = "v1";
  object["kind"] = "ResourceQuota";
  object[k_epoch_at] = epoch_;
  ZOO_TRY_VOID(put(api, known, resource_quota_path(known.space, known.name), object));
  const auto now = table_.slice(known.space, known.name);
  if (!now) return fail(Code::conflict, "the slice in {} is gone", known.space);
  return *now;
}

/// Where upstream has counted something twice, or forgotten it, for longer than it takes to count
/// again.
Result<void> QuotaKeeper::repair(upstream::ControlApi& api, const KnownSlice& known, bool anew) {
  if (broker_.broker == nullptr) return {};
  const auto used = broker_.broker->with([&](quota::Judge& judge) {
    return judge.repair(known.space, known.name, std::chrono::steady_clock::now(), anew);
  });
  if (!used) return {};
  auto object = json::parse(known.object, nullptr, false);
  object["apiVersion"] = "v1";
  object["kind"] = "ResourceQuota";
  object["status"]["used"] = as_json(*used);
  log::debug("accounts", "the slice in {} says {} instead of {}", known.space,
             quota::amounts_text(*used), quota::amounts_text(known.slice.used));
  ++repairs_;
  ZOO_TRY_VOID(put(api, known, resource_quota_path(known.space, known.name) + "/status", object));
  return {};
}

/// From before the write on nobody is let in by what the slice has no more.
Result<void> QuotaKeeper::lower(upstream::ControlApi& api, const quota::Limit& limit,
                                const KnownSlice& known, const ResourceList& hard) {
  if (broker_.broker == nullptr) return write(api, limit, known, hard);
  const bool fits = broker_.broker->with(
      [&](quota::Judge& judge) { return judge.lowering(known.space, known.name, hard); });
  if (!fits) return fail(Code::conflict, "somebody was let in in {} meanwhile", known.space);
  auto done = write(api, limit, known, hard);
  broker_.broker->with([&](quota::Judge& judge) {
    judge.settle(known.space, known.name, std::chrono::steady_clock::now());
  });
  return done;
}

/// status.hard first, which is what holds, then spec.hard, which kube-controller-manager copies
/// into it at any moment. Each is a compare-and-swap: Code::conflict, and the look begins anew.
Result<void> QuotaKeeper::write(upstream::ControlApi& api, const quota::Limit& limit,
                                const KnownSlice& known, const ResourceList& hard) {
  const auto path = resource_quota_path(known.space, known.name);
  auto object = json::parse(known.object, nullptr, false);
  if (!object.is_object()) return fail(Code::internal, "{} is no object", path);
  object["apiVersion"] = "v1";
  object["kind"] = "ResourceQuota";
  object["status"]["hard"] = as_json(hard);
  auto used = of_names(known.slice.used, hard);
  std::erase_if(used, [&](const auto& entry) { return !known.slice.used.contains(entry.first); });
  object["status"]["used"] = as_json(used);
  ++moves_;
  ZOO_TRY(object, put(api, known, path + "/status", object));
  object["spec"] = json::parse(quota::slice_spec(limit, hard));
  ZOO_TRY_VOID(put(api, known, path, object));
  return {};
}

/// What was let in and was not seen since: an object that upstream has not is let go.
Result<QuotaKeeper::Next> QuotaKeeper::look_for_doubts(upstream::ControlApi& api,
                                                       const std::string& owner) {
  if (broker_.broker == nullptr) return Next{};
  const auto doubts = broker_.broker->read([&](const quota::Judge& judge) {
    return judge.doubts(owner, std::chrono::seconds(1), std::chrono::steady_clock::now());
  });
  for (std::size_t i = 0; i < doubts.size() && i < k_most_doubts; ++i) {
    const auto path = broker_.path_of(doubts[i].space, doubts[i].key);
    if (path.empty()) continue;
    const auto found = api.get(path);
    if (found || found.error().code() != Code::not_found) continue;
    broker_.broker->with(
        [&](quota::Judge& judge) { judge.dismiss(doubts[i], std::chrono::steady_clock::now()); });
  }
  broker_.broker->doubts_settled(owner);
  return Next{};
}

Result<void> QuotaKeeper::room_for(const std::string& account, const std::string& space) const {
  if (broker_.broker == nullptr) return {};
  const auto full = broker_.broker->read([&](const quota::Judge& judge) {
    return judge.no_room(account, space, std::chrono::steady_clock::now());
  });
  if (full.empty()) return {};
  return fail(Code::forbidden, "account \"{}\" has no room for what is in namespace \"{}\": {}",
              account, space, full);
}

Result<void> QuotaKeeper::furnish(upstream::ControlApi& api, const std::string& space,
                                  const std::vector<std::string>& owners, bool in_tenant) {
  ZOO_TRY(const auto state, parts_.state());
  std::vector<quota::Limit> limits;
  for (const auto& name : owners) {
    auto owner = owner_of(*state, name);
    for (auto& limit : owner.limits) {
      ZOO_TRY_VOID(make(api, *state, limit, space, name, in_tenant));
      limits.push_back(std::move(limit));
    }
    if (!owner.limits.empty()) touched(name);
  }
  if (limits.empty()) return {};
  const auto has_room = [&] {
    return std::all_of(limits.begin(), limits.end(), [&](const quota::Limit& limit) {
      const auto known = table_.slice(space, limit.slice_name);
      return known && counted(known->slice, limit.hard) &&
             std::any_of(known->slice.hard.begin(), known->slice.hard.end(),
                         [](const auto& entry) { return !entry.second.zero(); });
    });
  };
  // An owner whose quota is used up may still make namespaces: they begin without room.
  if (!table_.wait(has_room, settings_.furnish))
    log::debug("accounts", "namespace {} begins without room in its quota", space);
  return {};
}

} // namespace zoo::accounts
