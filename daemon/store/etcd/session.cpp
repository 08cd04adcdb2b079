// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/etcd/session.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace zoo::store::etcd {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds k_ttl{10};
constexpr seconds k_margin{2}; ///< of k_ttl, in which nobody leads
constexpr milliseconds k_keep{3'000};
constexpr milliseconds k_look{1'000};           ///< of one who does not lead; he is told of it, too
constexpr seconds k_longest_honours{24 * 3600}; ///< of one that goes on for ever
constexpr milliseconds k_settling{250};         ///< of one who waits, and is told of changes
constexpr Patience k_patience{milliseconds(1'500), milliseconds(3'000)};

json instance_of(std::string_view value) {
  auto out = json::parse(value, nullptr, false);
  return out.is_object() ? out : json::object();
}

} // namespace

std::chrono::nanoseconds EtcdSession::now() {
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

EtcdSession::EtcdSession(Gateway& gateway, const Layout& layout, Replica self)
    : gateway_(gateway), layout_(layout), self_(std::move(self)), instance_(crypto::uuid_v4()),
      leader_key_(layout.session("leader/controllers")),
      replica_key_(layout.session("replica/" + self_.name)),
      applied_key_(layout.session("applied/" + self_.name)),
      known_key_(layout.session("known/" + self_.name)), info_(self_.info) {}

EtcdSession::~EtcdSession() {
  thread_ = {};
  if (lease_ == 0) return;
  // Who goes in order is not missed: nobody waits until it has heard of anything.
  (void)gateway_.ask("/v3/kv/deleterange", range(known_key_),
                     {milliseconds(1'000), milliseconds(1'000)});
  (void)gateway_.ask("/v3/lease/revoke", {{"ID", std::to_string(lease_)}},
                     {milliseconds(1'000), milliseconds(1'000)});
}

std::string EtcdSession::value() const {
  const std::lock_guard lock(mutex_);
  return json{{"name", self_.name}, {"instance", instance_}, {"info", info_}}.dump();
}

Result<void> EtcdSession::begin() {
  // One who has just died is known for ten more seconds.
  const auto end = now() + k_ttl + seconds(5);
  for (;;) {
    const auto done = register_self(now());
    if (done) {
      // What is read from now on holds all that was written until now.
      confirm(*done);
      break;
    }
    if (done.error().code() != Code::conflict || now() > end) return fail(done.error());
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, k_look);
  }
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
  return {};
}

/// A new lease, and this replica's key on it; etcd's revision of that moment.
Result<std::int64_t> EtcdSession::register_self(std::chrono::nanoseconds asked) {
  ZOO_TRY(const auto answer,
          gateway_.ask("/v3/lease/grant", {{"TTL", std::to_string(k_ttl.count())}}, k_patience));
  const auto lease = number(answer, "ID");
  ZOO_TRY(const auto found, gateway_.ask("/v3/kv/range", range(replica_key_), k_patience));
  ZOO_TRY(const auto there, first_of(found));
  const auto drop = [&] {
    (void)gateway_.ask("/v3/lease/revoke", {{"ID", std::to_string(lease)}}, k_patience);
  };
  if (there.modified != 0 && kube::text_at(instance_of(there.value), "/instance") != instance_) {
    drop();
    return fail(Code::conflict,
                "another zood named '{}' has this store open: each needs a name of its own "
                "(replicas.name)",
                self_.name);
  }
  const json txn{{"compare", json::array({modified_is(replica_key_, there.modified)})},
                 {"success", json::array({request_put(replica_key_, value(), lease),
                                          request_put(known_key_, known(0))})}};
  ZOO_TRY(const auto put, gateway_.ask("/v3/kv/txn", txn, k_patience));
  if (!flag(put, "succeeded")) {
    drop();
    return fail(Code::unavailable, "the session of '{}' was changed meanwhile", self_.name);
  }
  const std::lock_guard lock(mutex_);
  lease_ = lease;
  confirmed_ = 0; // what was confirmed went with the lease before
  valid_until_ = asked + k_ttl - k_margin;
  return header_revision(put);
}

/// false: the lease is gone.
Result<bool> EtcdSession::keep() {
  const auto asked = now();
  const auto answer =
      gateway_.ask("/v3/lease/keepalive", {{"ID", std::to_string(lease_)}}, k_patience);
  if (!answer) {
    if (answer.error().code() == Code::not_found) return false;
    return fail(answer.error());
  }
  // Over the gateway the answer is one of a stream.
  const auto ttl = number(answer->value("result", json::object()), "TTL");
  if (ttl <= 0) return false;
  const std::lock_guard lock(mutex_);
  valid_until_ = asked + seconds(std::min<std::int64_t>(ttl, k_ttl.count())) - k_margin;
  return true;
}

void EtcdSession::try_to_lead() {
  {
    const std::lock_guard lock(mutex_);
    // One whose lease is about to end would tell that it leads, and take it back at once.
    if (leader_created_ != 0 || resigned_ || lease_ == 0 || now() >= valid_until_) return;
  }
  const json txn{{"compare", json::array({created_is(leader_key_, 0)})},
                 {"success", json::array({request_put(leader_key_, value(), lease_)})},
                 {"failure", json::array({request_range(range(leader_key_))})}};
  const auto answer = gateway_.ask("/v3/kv/txn", txn, k_patience);
  if (!answer) return;
  auto created = header_revision(*answer);
  if (!flag(*answer, "succeeded")) {
    // A copy of this request may have made it.
    const auto responses = answer->value("responses", json::array());
    if (responses.empty()) return;
    const auto there = first_of(responses.front().value("response_range", json::object()));
    if (!there || kube::text_at(instance_of(there->value), "/instance") != instance_) return;
    created = there->created;
  }
  bool resigned = false; // while it asked
  {
    const std::lock_guard lock(mutex_);
    resigned = resigned_;
    if (!resigned) leader_created_ = created;
  }
  if (resigned) return give_away(created);
  log::info("store", "this zood ('{}') leads", self_.name);
  set_leads(true);
}

/// Tells of a change, once.
void EtcdSession::set_leads(bool leads) {
  const std::lock_guard telling(telling_);
  std::function<void(bool)> told;
  {
    const std::lock_guard lock(mutex_);
    if (told_leading_ == leads) return;
    told_leading_ = leads;
    if (!leads) leader_created_ = 0;
    told = told_;
  }
  if (told) told(leads);
}

bool EtcdSession::leads() const {
  const std::lock_guard lock(mutex_);
  return leader_created_ != 0 && !resigned_ && now() < valid_until_;
}

std::optional<Fence> EtcdSession::fence() const {
  const std::lock_guard lock(mutex_);
  // A fence that nobody passes is better than none.
  return Fence{leader_key_, leader_created_ != 0 ? leader_created_ : -1};
}

void EtcdSession::on_change(std::function<void(bool leads)> told) {
  const std::lock_guard telling(telling_);
  bool leading = false;
  {
    const std::lock_guard lock(mutex_);
    told_ = told;
    leading = told_leading_;
  }
  if (leading && told) told(true);
}

void EtcdSession::resign() {
  std::int64_t created = 0;
  {
    const std::lock_guard lock(mutex_);
    resigned_ = true;
    created = std::exchange(leader_created_, 0);
  }
  if (created == 0) return;
  set_leads(false);
  give_away(created);
}

void EtcdSession::give_away(std::int64_t created) {
  const json txn{{"compare", json::array({created_is(leader_key_, created)})},
                 {"success", json::array({request_removal(leader_key_)})}};
  if (const auto done = gateway_.ask("/v3/kv/txn", txn, k_patience); !done)
    log::warning("store", "leadership is not given away, and ends in {} s: {}", k_ttl.count(),
                 done.error().text());
}

Result<std::vector<Replica>> EtcdSession::replicas() {
  const auto begin = layout_.session(""), replica = layout_.session("replica/");
  ZOO_TRY(const auto answer, gateway_.ask("/v3/kv/range", range(begin, end_of_prefix(begin))));
  std::vector<Replica> out;
  std::string leader; // the process that leads
  std::vector<std::string> instances;
  for (const auto& each : kube::list_at(answer, "/kvs")) {
    ZOO_TRY(const auto pair, read_key_value(each));
    const auto parts = instance_of(pair.value);
    if (pair.key == leader_key_) leader = kube::text_at(parts, "/instance");
    if (!pair.key.starts_with(replica)) continue;
    out.push_back(
        {pair.key.substr(replica.size()), kube::text_at(parts, "/info"), false, Seconds(0)});
    instances.push_back(kube::text_at(parts, "/instance"));
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].leads = !leader.empty() && instances[i] == leader;
  return out;
}

void EtcdSession::heard(const SessionChange& change) {
  const std::lock_guard lock(mutex_);
  if (change.name == "leader/controllers" && change.created == 0) wanted_ = true;
  ++heard_; // of somebody who waits in settle()
  changed_.notify_all();
}

void EtcdSession::confirm(std::int64_t revision) {
  const std::lock_guard lock(mutex_);
  confirm_ = std::max(confirm_, revision);
  wanted_ = true;
  changed_.notify_all();
}

void EtcdSession::confirm_soon() {
  std::int64_t revision = 0;
  {
    const std::lock_guard lock(mutex_);
    if (confirm_ <= confirmed_) return;
    revision = confirm_;
  }
  const auto put = request_put(applied_key_, std::to_string(revision), lease_)["request_put"];
  if (!gateway_.ask("/v3/kv/put", put, k_patience)) return; // again a second later
  const std::lock_guard lock(mutex_);
  confirmed_ = revision;
}

void EtcdSession::tell(std::string info) {
  const std::lock_guard lock(mutex_);
  info_ = std::move(info);
  untold_ = wanted_ = true;
  changed_.notify_all();
}

void EtcdSession::tell_soon() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(untold_, false)) return;
  }
  const auto put = request_put(replica_key_, value(), lease_)["request_put"];
  if (gateway_.ask("/v3/kv/put", put, k_patience)) return;
  const std::lock_guard lock(mutex_);
  untold_ = true; // again a second later
}

/// What is kept of a replica until it goes in order; `lost`: since when it does not live, in Unix
/// seconds; 0: it does.
std::string EtcdSession::known(std::int64_t lost) const {
  const auto honours = self_.honours == Seconds::zero() ? k_longest_honours : self_.honours;
  return json{{"honours", honours.count()}, {"lost", lost}}.dump();
}

/// Of one that does not live: whether it may go by what it knew. Remembers since when.
bool EtcdSession::may_go_on(const KeyValue& known) {
  auto parts = instance_of(known.value);
  const auto now = kube::unix_now();
  const auto lost = number(parts, "lost");
  json txn{{"compare", json::array({modified_is(known.key, known.modified)})}};
  if (lost == 0) {
    parts["lost"] = now;
    txn["success"] = json::array({request_put(known.key, parts.dump())});
  } else if (now - lost > number(parts, "honours")) {
    txn["success"] = json::array({request_removal(known.key)});
  } else {
    return true;
  }
  (void)gateway_.ask("/v3/kv/txn", txn); // if it is not done, the next one who looks does it
  return lost == 0;
}

Result<std::vector<std::string>> EtcdSession::settle() {
  const auto end = std::chrono::steady_clock::now() + k_ttl + k_margin;
  const auto put = request_put(layout_.session("barrier"), "")["request_put"];
  ZOO_TRY(const auto barrier, gateway_.ask("/v3/kv/put", put));
  const auto wanted = header_revision(barrier);
  const auto begin = layout_.session("");
  const std::string replica = layout_.session("replica/"), applied = layout_.session("applied/"),
                    known = layout_.session("known/");
  // Who comes later reads what was written by then.
  std::optional<std::set<std::string>> waiting;
  for (;;) {
    std::uint64_t before = 0;
    {
      const std::lock_guard lock(mutex_);
      before = heard_;
    }
    ZOO_TRY(const auto answer, gateway_.ask("/v3/kv/range", range(begin, end_of_prefix(begin))));
    std::set<std::string> alive;
    std::map<std::string, std::int64_t> has;
    std::map<std::string, KeyValue> all;
    for (const auto& each : kube::list_at(answer, "/kvs")) {
      ZOO_TRY(auto pair, read_key_value(each));
      if (pair.key.starts_with(replica)) alive.insert(pair.key.substr(replica.size()));
      if (pair.key.starts_with(known)) {
        auto name = pair.key.substr(known.size());
        all.emplace(std::move(name), std::move(pair));
        continue;
      }
      if (!pair.key.starts_with(applied)) continue;
      std::int64_t revision = 0;
      std::from_chars(pair.value.data(), pair.value.data() + pair.value.size(), revision);
      has.emplace(pair.key.substr(applied.size()), revision);
    }
    if (!waiting) {
      waiting = alive;
      for (const auto& [name, pair] : all)
        waiting->insert(name);
    }
    std::erase_if(*waiting, [&](const std::string& name) {
      const auto found = has.find(name);
      if (found != has.end() && found->second >= wanted) return true;
      return !alive.contains(name) && !all.contains(name); // it has gone in order
    });
    const bool some_live = std::any_of(waiting->begin(), waiting->end(),
                                       [&](const auto& name) { return alive.contains(name); });
    if (!some_live || std::chrono::steady_clock::now() >= end) {
      std::vector<std::string> out;
      for (const auto& name : *waiting) {
        if (alive.contains(name) || may_go_on(all.at(name))) out.push_back(name);
      }
      return out;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, k_settling, [&] { return heard_ != before; });
  }
}

void EtcdSession::run(std::stop_token stop) {
  auto kept = std::chrono::steady_clock::now();
  bool lost = false; // an outage was told of
  while (!stop.stop_requested()) {
    try_to_lead();
    confirm_soon();
    tell_soon();
    bool late = false; // leadership that was not kept in time
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, k_look, [&] { return wanted_; });
      wanted_ = false;
      late = leader_created_ != 0 && now() >= valid_until_;
    }
    if (stop.stop_requested()) return;
    if (late) set_leads(false);
    if (std::chrono::steady_clock::now() - kept < k_keep) continue;
    kept = std::chrono::steady_clock::now();
    const auto alive = keep();
    if (!alive && !std::exchange(lost, true))
      log::warning("store", "the session cannot be kept: {}", alive.error().text());
    if (!alive) continue;
    lost = false;
    if (*alive) continue;
    set_leads(false);
    if (auto again = register_self(now()); !again) {
      log::warning("store", "the session has ended, and there is no new one: {}",
                   again.error().text());
      continue;
    }
    // What was missed meanwhile is confirmed when the stream has told of it: of this, too.
    const auto put = request_put(layout_.session("barrier"), "")["request_put"];
    (void)gateway_.ask("/v3/kv/put", put, k_patience);
  }
}

} // namespace zoo::store::etcd
