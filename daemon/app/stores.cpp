// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/stores.hpp"

#include "common/base/file.hpp"
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/admin/wish.hpp"
#include "daemon/app/agreed_settings.hpp"
#include "daemon/app/joining.hpp"
#include "daemon/clusters/record.hpp"
#include "daemon/store/etcd/etcd.hpp"
#include "daemon/store/moving.hpp"
#include "daemon/store/sqlite.hpp"

#include <nlohmann/json.hpp>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace zoo::app {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A stream that tells nothing for so long is no pause between two writes.
constexpr std::chrono::seconds k_stale{20};

store::EtcdOptions etcd_options(const config::StorePlace& place) {
  store::EtcdOptions out;
  out.endpoints = place.endpoints;
  out.ca_pem = place.ca_pem;
  out.certificate_pem = place.certificate_pem;
  out.key_pem = place.key_pem.clone();
  out.server_name = place.server_name;
  out.username = place.username;
  out.password = place.password.clone();
  if (!place.prefix.empty()) out.prefix = place.prefix;
  return out;
}

/// The store that is to be filled, which is not the one that zood has open.
Result<std::unique_ptr<store::Store>> open_target(const config::StorePlace& place) {
  if (place.driver == "etcd") return store::open_etcd(etcd_options(place));
  const fs::path file = place.file;
  if (!file.is_absolute())
    return fail(Code::invalid, "the file of a store is an absolute path, not '{}'", place.file);
  store::SqliteOptions options;
  options.directory = file.parent_path();
  options.file = file;
  options.locked = true; // it may be the directory of this very zood
  ZOO_TRY_VOID(file::ensure_private_directory(options.directory));
  return store::open_sqlite(std::move(options));
}

/// Puts what is there out of the way, if nobody needs it any more.
Result<void> clear_target(const config::StorePlace& place) {
  auto there = open_target(place);
  // What etcd holds of an unfinished migration is not opened at all. Of a file the same code says
  // that another process has it open.
  const bool unfinished =
      !there && place.driver == "etcd" && there.error().code() == Code::conflict;
  if (!there && !unfinished) return fail(std::move(there).error());
  if (there) {
    ZOO_TRY(const bool may, store::may_clear(**there));
    if (!may) {
      ZOO_TRY(const auto all, (*there)->snapshot());
      if (all.records.empty()) return {};
      return fail(Code::conflict,
                  "{} holds records that no migration has left there: it is not cleared",
                  place.text());
    }
    there->reset();
  }
  if (place.driver == "etcd") return store::clear_etcd(etcd_options(place));
  for (const auto* end : {"", "-wal", "-shm"}) {
    const fs::path from = place.file + end;
    std::error_code failed;
    if (!fs::exists(from, failed)) continue;
    fs::rename(from, place.file + fmt::format(".{}{}", kube::unix_now(), end), failed);
    if (failed) return fail(Code::io, "cannot put {} aside: {}", from.string(), failed.message());
  }
  return {};
}

/// Control planes run beside the one zood that has their records for itself.
Result<void> check_no_clusters(store::Store& store, const config::StorePlace& place) {
  if (place.driver == "sqlite") return {};
  ZOO_TRY(const auto there, clusters::all_records(store));
  if (there.empty()) return {};
  return fail(Code::conflict,
              "there are {} virtual clusters, '{}' for one, and their control planes run beside a "
              "zood that keeps its records in a file: they are not moved to etcd. Delete them "
              "first, or leave the records where they are",
              there.size(), there.front().key());
}

json report(const store::Moved& moved) {
  return json{{"records", moved.records},
              {"bytes", moved.bytes},
              {"revision", moved.revision},
              {"sha256", moved.digest}};
}

} // namespace

Result<OpenedStore> open_store(const config::Values& values, bool empty) {
  const auto dir = values.path("dir");
  ZOO_TRY_VOID(file::ensure_private_directory(dir));
  OpenedStore out;
  ZOO_TRY(auto lock, store::DirectoryLock::acquire(dir));
  out.lock.emplace(std::move(lock));
  ZOO_TRY(const auto place, config::store_place(values));
  std::unique_ptr<store::Store> inner;
  if (place.driver == "etcd") {
    if (place.endpoints.empty())
      return fail(Code::usage, "store.driver is etcd, and store.etcd.endpoints names no member");
    ZOO_TRY(inner, store::open_etcd(etcd_options(place)));
  } else {
    store::SqliteOptions options;
    options.directory = dir;
    options.file = place.file;
    options.locked = true;
    ZOO_TRY(inner, store::open_sqlite(std::move(options)));
  }
  if (!empty) ZOO_TRY_VOID(store::take_into_use(*inner));
  auto timed = std::make_unique<store::TimedStore>(std::move(inner));
  out.timed = timed.get();
  out.store = std::make_unique<store::HeldStore>(std::move(timed));
  return out;
}

store::Replica own_replica(const config::Values& values, std::int64_t started) {
  store::Replica out;
  out.name = values.string("replicas.name");
  if (out.name.empty()) {
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) == 0) out.name = host;
    if (out.name.empty()) out.name = "zood";
  }
  out.honours = std::chrono::ceil<std::chrono::seconds>(values.duration("replicas.max_stale"));
  out.info = replica_info(values, started, {});
  return out;
}

std::string replica_info(const config::Values& values, std::int64_t started,
                         const std::string& admin) {
  json out{{"version", ZOO_VERSION}, {"started", started}, {"settings", agreed_settings(values)}};
  if (!admin.empty()) out["admin"] = admin;
  return out.dump();
}

Result<json> StoreMigration::state() {
  ZOO_TRY(const auto revision, store_.revision());
  ZOO_TRY(const auto replicas, session_.replicas());
  json all = json::array();
  for (const auto& each : replicas) {
    auto row = json::parse(each.info, nullptr, false);
    if (!row.is_object()) row = json::object();
    row["name"] = each.name;
    row["leads"] = each.leads;
    all.push_back(std::move(row));
  }
  return json{{"name", session_.name()},
              {"leads", session_.leads()},
              {"replicas", std::move(all)},
              {"driver", here_.driver},
              {"place", here_.text()},
              {"revision", revision},
              {"staleMilliseconds", store_.stale().count()}};
}

Result<Secret> StoreMigration::invite() { return invitation(here_, directory_); }

Result<json> StoreMigration::migrate(const json& wish) {
  const std::lock_guard lock(mutex_);
  ZOO_TRY(const auto place, config::store_place_of(wish.value("to", json::object())));
  if (moved_)
    return fail(Code::conflict, "the records of this zood have moved already: restart it");
  if (place.text() == here_.text())
    return fail(Code::invalid, "that is the store that zood has: {}", place.text());
  ZOO_TRY_VOID(check_no_clusters(store_, place));
  ZOO_TRY(const bool dry_run, admin::flag_member(wish, "dryRun", false));
  ZOO_TRY(const bool clears, admin::flag_member(wish, "clearTarget", false));
  if (clears && !dry_run) ZOO_TRY_VOID(clear_target(place));
  ZOO_TRY(auto target, open_target(place));
  if (dry_run) {
    ZOO_TRY(const auto there, target->snapshot());
    if (!there.records.empty())
      return fail(Code::conflict, "{} is not empty: it holds {} records", place.text(),
                  there.records.size());
    ZOO_TRY(const auto weight, store::weigh_store(store_, target->limits()));
    auto out = report(weight);
    out["dryRun"] = true;
    return out;
  }
  // Another one would go on writing.
  ZOO_TRY(const auto replicas, session_.replicas());
  if (replicas.size() > 1) {
    return fail(Code::conflict,
                "{} zoods have this store open: stop all but this one ('{}'), and move the records "
                "then",
                replicas.size(), session_.name());
  }
  const auto begun = std::chrono::steady_clock::now();
  store_.hold("zood's records are being moved to " + place.text());
  auto moved = store::copy_store(store_, *target);
  auto marked = moved ? store::mark_moved(store_.inner(), place.text()) : Result<void>();
  if (!moved || !marked) {
    store_.release();
    return fail(moved ? std::move(marked).error() : std::move(moved).error());
  }
  moved_ = true;
  store_.hold(fmt::format("zood's records have moved to {}: restart zood with a configuration that "
                          "names that store",
                          place.text()));
  log::warning("app",
               "the records have moved to {}: nothing is written until zood is restarted with "
               "a configuration that names that store",
               place.text());
  auto out = report(*moved);
  out["heldMilliseconds"] = std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::steady_clock::now() - begun)
                                .count();
  return out;
}

tenants::Finding finding_of(const std::vector<store::Member>& all) {
  using Level = tenants::Finding::Level;
  constexpr double k_full = 0.8;
  std::vector<std::string> away, wrong, full, versions;
  std::int64_t largest = 0;
  bool takes_writes = false;
  for (const auto& each : all) {
    if (!each.trouble.empty()) {
      away.push_back(fmt::format("{} ({})", each.url, each.trouble));
      continue;
    }
    takes_writes = takes_writes || each.has_leader;
    largest = std::max(largest, each.bytes);
    for (const auto& alarm : each.wrong)
      wrong.push_back(fmt::format("{}: {}", each.url, alarm));
    if (each.quota > 0 && double(each.bytes) > k_full * double(each.quota))
      full.push_back(fmt::format("{}: {} of {} MiB", each.url, each.bytes >> 20, each.quota >> 20));
    if (std::find(versions.begin(), versions.end(), each.version) == versions.end())
      versions.push_back(each.version);
  }
  if (!wrong.empty()) {
    return {
        Level::problem, "store",
        fmt::format("etcd has raised an alarm, and may take no writes: {}", fmt::join(wrong, "; ")),
        "for NOSPACE compact it, defragment it or raise --quota-backend-bytes, then run "
        "`etcdctl alarm disarm`; a member whose data is CORRUPT is replaced"};
  }
  if (!takes_writes) {
    return {Level::problem, "store",
            fmt::format("no member of etcd knows a leader, so that none takes a write{}{}",
                        away.empty() ? "" : "; these do not answer: ", fmt::join(away, "; ")),
            "see that a majority of etcd's members runs, and that they reach each other"};
  }
  if (!away.empty()) {
    return {Level::warning, "store",
            fmt::format("{} of {} members of etcd do not answer: {}", away.size(), all.size(),
                        fmt::join(away, "; ")),
            "start them again, or take them out of store.etcd.endpoints"};
  }
  if (!full.empty()) {
    return {
        Level::warning, "store", fmt::format("etcd is nearly full: {}", fmt::join(full, "; ")),
        "compact and defragment it, or raise --quota-backend-bytes: a full one takes no writes"};
  }
  return {Level::ok, "store",
          fmt::format("{} of {} members of etcd answer (version {}, {} MiB)", all.size(),
                      all.size(), fmt::join(versions, ", "), largest >> 20),
          ""};
}

std::vector<tenants::Finding> findings_of(const std::vector<store::Replica>& all,
                                          std::string_view own) {
  using Level = tenants::Finding::Level;
  std::vector<tenants::Finding> out;
  std::map<std::string, json> settings; // by name
  std::set<std::string> versions;
  std::string leader;
  for (const auto& each : all) {
    const auto info = json::parse(each.info, nullptr, false);
    if (each.leads) leader = each.name;
    if (!info.is_object()) continue;
    versions.insert(kube::text_at(info, "/version"));
    settings[each.name] = info.value("settings", json());
  }
  const auto mine = settings[std::string(own)];
  for (const auto& [name, theirs] : settings) {
    const auto keys = differing_settings(mine, theirs);
    if (keys.empty()) continue;
    out.push_back({Level::warning, "replicas",
                   fmt::format("zood '{}' has other values than '{}' of {}: what a tenant may "
                               "depends on which of them it meets",
                               name, own, fmt::join(keys, ", ")),
                   "give all zoods the same values of these, then reload or restart them"});
  }
  if (leader.empty()) {
    out.push_back({Level::warning, "replicas",
                   "no zood leads: what is wanted is recorded, and not done",
                   "wait for a quarter of a minute; their logs have more"});
  } else if (versions.size() > 1) {
    out.push_back({Level::warning, "replicas",
                   fmt::format("{} zoods of different versions have this store: {}", all.size(),
                               fmt::join(versions, ", ")),
                   "upgrade all of them"});
  } else if (out.empty()) {
    out.push_back({Level::ok, "replicas",
                   fmt::format("{} zoods have this store, and '{}' leads", all.size(), leader),
                   ""});
  }
  return out;
}

std::vector<tenants::Finding> StoreMigration::findings() const {
  using Level = tenants::Finding::Level;
  std::vector<tenants::Finding> out;
  if (moved_) {
    out.push_back({Level::problem, "store", "zood's records have moved, and nothing is written",
                   "restart zood with a configuration that names the new store"});
  }
  if (here_.driver == "sqlite") return out;
  if (const auto stale = store_.stale(); stale > k_stale) {
    out.push_back(
        {Level::problem, "store",
         fmt::format("etcd ({}) has told nothing for {} s: tenants are served by what was known "
                     "then, and nothing is written",
                     here_.text(), std::chrono::duration_cast<std::chrono::seconds>(stale).count()),
         "see that a majority of etcd's members runs, and that this machine reaches one"});
  } else if (const auto members = store_.members(); !members.empty()) {
    out.push_back(finding_of(members));
  }
  if (const auto replicas = session_.replicas()) { // else it is told of above, in a moment
    auto more = findings_of(*replicas, session_.name());
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  return out;
}

void StoreMigration::measure(MetricText& out) const {
  out.family("zood_store_stale_seconds", MetricText::Type::gauge,
             "Since the store told for the last time what has changed");
  out.sample(double(store_.stale().count()) / 1000);
  out.family("zood_leader", MetricText::Type::gauge, "1 where this zood runs the controllers");
  out.sample(session_.leads() ? 1 : 0);
  constexpr std::chrono::seconds k_heard{8}; // else the store is away, and is not waited for
  const auto replicas = store_.stale() < k_heard
                            ? session_.replicas()
                            : Result<std::vector<store::Replica>>(fail(Code::unavailable, "away"));
  if (!replicas) return;
  out.family("zood_replicas", MetricText::Type::gauge, "Zoods that have this store open");
  out.sample(static_cast<double>(replicas->size()));
}

} // namespace zoo::app
