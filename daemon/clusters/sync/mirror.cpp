// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/mirror.hpp"

#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/own_watch.hpp"
#include "daemon/clusters/sync/pod_dress.hpp"
#include "daemon/clusters/sync/pod_status.hpp"
#include "daemon/clusters/sync/volumes.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/tenants/footprint.hpp"

#include <pthread.h>

#include <algorithm>
#include <unordered_set>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds k_until_known{500};
constexpr milliseconds k_full_pause{300'000};
constexpr milliseconds k_room_look{200}; ///< several may go together
constexpr std::size_t k_woken = 32;      ///< that are tried again at a time, if there is room
/// How long the cluster's API server may take to store what it has asked to be changed upstream.
constexpr std::int64_t k_asked_seconds = 10;

std::string key_of_object(const json& object) {
  return kube::text_at(object, "/metadata/namespace") + "/" +
         kube::text_at(object, "/metadata/name");
}

} // namespace

Mirror::Mirror(const SyncRoom& room, const MirrorOptions& options)
    : room_(room), sides_(mirror_kinds().size()) {
  for (std::size_t kind = 0; kind < sides_.size(); ++kind) {
    sides_[kind].on = is_on(mirror_kinds()[kind], options);
    sides_[kind].table.use(room.stored, mirror_kinds()[kind].ports != nullptr);
    sides_[kind].known = !sides_[kind].on; // there is nothing to be known
  }
}

Mirror::~Mirror() {
  for (auto& side : sides_)
    side.thread.request_stop();
  // Each tells of all sides while it ends.
  for (auto& side : sides_)
    if (side.thread.joinable()) side.thread.join();
}

void Mirror::start() {
  for (std::size_t kind = 0; kind < sides_.size(); ++kind) {
    if (!sides_[kind].on)
      room_.queue.add(room_.id, fmt::format("x/{}", kind), Lane::then); // what there was goes
    else if (!mirror_kinds()[kind].referenced)
      start(kind);
  }
}

void Mirror::pods_noted() {
  for (std::size_t kind = 0; kind < sides_.size(); ++kind)
    if (mirror_kinds()[kind].referenced && !sides_[kind].thread.joinable()) start(kind);
}

void Mirror::start(std::size_t kind) {
  sides_[kind].thread =
      std::jthread([this, kind](const std::stop_token& stop) { listen(kind, stop); });
}

std::string Mirror::queue_key(std::size_t kind, const std::string& key) const {
  return fmt::format("m/{}/{}", kind, key);
}

Mirror::Target Mirror::target_of(const std::string& rest) {
  const auto slash = rest.find('/');
  const auto key = rest.substr(slash + 1);
  return {static_cast<std::size_t>(std::stoul(rest.substr(0, slash))), key, ObjectName(key)};
}

std::string Mirror::path_there(const MirrorKind& kind, const ObjectName& at) const {
  return kind.path(upstream_namespace(room_.id, at.space), name_there(kind, at.name));
}

// ---- the cluster's own side ----

void Mirror::listen(std::size_t kind, const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), fmt::format("hear-{}-{}", room_.id, kind).c_str());
  keep_hearing(
      stop, [&] { return listen_once(kind, stop); },
      [&](const Error& error) {
        log::debug("clusters", "{}: {}: {}", room_.id, mirror_kinds()[kind].resource, error.text());
        {
          const std::scoped_lock lock(mutex_);
          sides_[kind].trouble = error.message();
        }
        room_.changed();
      });
}

Result<void> Mirror::listen_once(std::size_t kind, const std::stop_token& stop) {
  const auto& row = mirror_kinds()[kind];
  auto& side = sides_[kind];
  ZOO_TRY_VOID(room_.known(Store::cluster));
  ZOO_TRY(auto access, room_.access());
  side.table.begin_here();
  std::unordered_set<std::string> seen;
  bool all = false;
  OwnWatch watch{.turns = room_.list_turns};
  watch.path = row.collection();
  watch.found = [&](const json& object) {
    note(kind, object);
    // What is not noted need not be kept: so this is no larger than the table.
    const auto key = key_of_object(object);
    if (const auto facts = all ? std::nullopt : side.table.look(key); facts && facts->here)
      seen.insert(key);
  };
  watch.gone = [&](const json& object) {
    const auto key = key_of_object(object);
    if (side.table.drop_here(key)) room_.queue.add(room_.id, queue_key(kind, key), Lane::first);
  };
  watch.listed = [&] {
    all = true;
    for (const auto& key : side.table.keep_here(seen))
      room_.queue.add(room_.id, queue_key(kind, key), Lane::first);
    seen.clear();
    side.listed = true;
    {
      const std::scoped_lock lock(mutex_);
      side.trouble.clear();
    }
    room_.queue.add(room_.id, fmt::format("x/{}", kind), Lane::first);
    room_.changed();
  };
  return room_.hear(std::move(access), watch, room_.patrol, room_.calls, stop);
}

bool Mirror::is_wanted(std::size_t kind, const std::string& key) const {
  return !mirror_kinds()[kind].referenced || references_.contains(fmt::format("{}/{}", kind, key));
}

void Mirror::note(std::size_t kind, const json& object) {
  const auto& row = mirror_kinds()[kind];
  auto& side = sides_[kind];
  const auto key = key_of_object(object);
  const auto later = [&] { room_.queue.add(room_.id, queue_key(kind, key), Lane::first); };
  if (!is_wanted(kind, key) || (row.wanted != nullptr && !row.wanted(object))) {
    if (side.table.drop_here(key)) later();
    return;
  }
  MirrorHere here;
  here.uid = kube::text_at(object, "/metadata/uid");
  if (row.ports != nullptr) here.ports = row.ports(object);
  // What cannot be dressed is told when it is made.
  if (const auto wish = dress_object(row, object, room_.terms())) {
    here.hash = wish->hash;
    here.bytes = static_cast<std::uint32_t>(wish->bytes);
  }
  const auto noted = side.table.note_here(key, std::move(here));
  if (noted == MirrorTable::Noted::other && side.known) later();
  if (noted == MirrorTable::Noted::full) room_.changed();
}

void Mirror::note_pod(const std::string& pod, const json& object) {
  for (const auto& target : references_.set(pod, references_of(object)))
    room_.queue.add(room_.id, "m/" + target, Lane::first);
}

void Mirror::drop_pod(const std::string& pod) {
  for (const auto& target : references_.drop(pod))
    room_.queue.add(room_.id, "m/" + target, Lane::first);
}

// ---- upstream's ----

void Mirror::hear(std::size_t kind, const std::string& name_space, std::string_view name,
                  std::string_view object, bool gone) {
  const auto own = name_here(mirror_kinds()[kind], name);
  if (!own || !sides_[kind].on) return;
  const auto key = name_space + "/" + *own;
  auto& table = sides_[kind].table;
  const auto read = kube::parse_foreign(object);
  if (gone) {
    table.drop_there(key, kube::text_at(read, "/metadata/uid"));
    room_made(kind);
  } else if (!read.is_object() || !table.note_there(key, mirror_there(read))) {
    return;
  }
  if (sides_[kind].known) room_.queue.add(room_.id, queue_key(kind, key), Lane::first);
}

void Mirror::reread(std::size_t kind) {
  if (!sides_[kind].on) return;
  room_.queue.add(room_.id, fmt::format("x/{}", kind), Lane::first);
}

/// Calls `each` with all that upstream has of the cluster, of one kind.
Result<void>
Mirror::range_there(std::size_t kind, upstream::ControlApi& api,
                    const std::function<void(const std::string&, const json&)>& each) const {
  constexpr std::size_t k_page = 500;
  const auto& row = mirror_kinds()[kind];
  return tenants::range_objects(
      api, row.collection(), room_.id + "-", k_page, 0, true, {}, [&](const json& item) {
        const auto space = cluster_namespace(room_.id, kube::text_at(item, "/metadata/namespace"));
        const auto name = name_here(row, kube::text_at(item, "/metadata/name"));
        const auto labels = kube::texts_at(item, "/metadata/labels");
        const auto label = labels.find(k_id_label);
        if (space && name && label != labels.end() && label->second == room_.id)
          each(*space + "/" + *name, item);
      });
}

/// It is compared with what is known.
Result<WorkNext> Mirror::patrol(const std::string& rest) {
  const auto kind = static_cast<std::size_t>(std::stoul(rest));
  const auto& row = mirror_kinds()[kind];
  auto& side = sides_[kind];
  if (!side.on) return clear(kind);
  if (!side.listed) return WorkNext{k_until_known};
  const auto lease = room_.upstream.take();
  ZOO_TRY_VOID(room_.known_store(*lease, Store::upstream));
  std::unordered_set<std::string> seen;
  ZOO_TRY_VOID(range_there(kind, *lease, [&](const std::string& key, const json& item) {
    seen.insert(key);
    side.table.note_there(key, mirror_there(item));
  }));
  side.table.keep_there(seen);
  side.known = true;
  const auto undone = side.table.undone(row.goes_up(), kube::unix_now());
  for (const auto& key : undone)
    room_.queue.add(room_.id, queue_key(kind, key), Lane::then);
  log::debug("clusters", "{}: patrol: {} {} upstream, {} to be looked at", room_.id, seen.size(),
             row.resource, undone.size());
  room_.changed();
  return WorkNext{reconcile::jittered(room_.patrol)};
}

/// What was there while the cluster had this kind upstream goes, and nothing comes.
Result<WorkNext> Mirror::clear(std::size_t kind) {
  std::vector<std::pair<std::string, MirrorThere>> left;
  {
    const auto lease = room_.upstream.take();
    ZOO_TRY_VOID(room_.known_store(*lease, Store::upstream));
    ZOO_TRY_VOID(range_there(kind, *lease, [&](const std::string& key, const json& item) {
      if (auto there = mirror_there(item); !there.owner.empty())
        left.emplace_back(key, std::move(there));
    }));
  }
  const auto lease = room_.as_tenant.take();
  const WorkTime time;
  for (const auto& [key, there] : left) {
    if (time.over()) return WorkNext{milliseconds(0)}; // what is left is read again
    ZOO_TRY_VOID(remove_of(*lease, path_there(mirror_kinds()[kind], ObjectName(key)), there.uid));
  }
  return WorkNext{};
}

Result<std::optional<json>> Mirror::read_here(const Target& target) {
  const auto& row = mirror_kinds()[target.kind];
  const auto lease = room_.own.take();
  auto object = (*lease).get(row.path(target.at.space, target.at.name));
  if (!object && object.error().code() == Code::not_found) {
    ZOO_TRY_VOID(room_.known_store(*lease, Store::cluster));
    return std::nullopt;
  }
  if (!object) return fail(std::move(object).error());
  if (row.wanted != nullptr && !row.wanted(*object)) return std::nullopt;
  return std::optional(*std::move(object));
}

/// As zood, since the namespace may lack its binding while it goes. The path is the cluster's own.
/// What is not there is believed of the store that it was in alone: another one lacks everything.
Result<std::optional<json>> Mirror::read_there(const Target& target) {
  auto& table = sides_[target.kind].table;
  const auto lease = room_.upstream.take();
  auto object = (*lease).get(path_there(mirror_kinds()[target.kind], target.at));
  if (!object && object.error().code() == Code::not_found) {
    ZOO_TRY_VOID(room_.known_store(*lease, Store::upstream));
    table.drop_there(target.key);
    room_made(target.kind);
    return std::nullopt;
  }
  if (!object) return fail(std::move(object).error());
  auto there = mirror_there(*object);
  const auto before = table.look(target.key);
  if (before && before->there && before->there->uid != there.uid)
    ZOO_TRY_VOID(
        room_.known_store(*lease, Store::upstream)); // another store may have one of this name, too
  table.note_there(target.key, std::move(there));
  return std::optional(*std::move(object));
}

// ---- what is done about one ----

Result<WorkNext> Mirror::work(const std::string& rest, unsigned attempts) {
  const auto target = target_of(rest);
  auto& side = sides_[target.kind];
  if (!side.known) return WorkNext{k_until_known};
  const auto& row = mirror_kinds()[target.kind];
  auto facts = side.table.look(target.key).value_or(MirrorFacts());
  if (row.referenced && !facts.here && is_wanted(target.kind, target.key)) {
    ZOO_TRY(const auto object, read_here(target)); // somebody names it since a moment ago
    if (object) note(target.kind, *object);
    facts = side.table.look(target.key).value_or(MirrorFacts());
  }
  if (row.referenced && facts.here && !is_wanted(target.kind, target.key)) {
    side.table.drop_here(target.key);
    facts.here.reset();
  }
  const auto now = kube::unix_now();
  const auto step = mirror_step(facts.here, facts.there, now);
  if (step != MirrorStep::nothing)
    log::debug("clusters", "{}: {} {}: {}", room_.id, row.resource, target.key, step_name(step));
  if (step == MirrorStep::create || step == MirrorStep::change)
    if (const auto pause = room_.pace.wait(); pause.count() != 0) return WorkNext{pause};
  switch (step) {
  case MirrorStep::nothing:
    if (!facts.here && facts.told != 0) side.table.set_told(target.key, 0);
    if (row.goes_up() && facts.here && facts.there && facts.shown != facts.there->version)
      return show(target, facts);
    room_.changed();
    return WorkNext{};
  case MirrorStep::wait:
    return WorkNext{std::chrono::seconds(facts.there->made + k_unborn_seconds + 1 - now)};
  case MirrorStep::create:
    return create(target, facts, attempts);
  case MirrorStep::change:
    return change(target, facts, attempts);
  case MirrorStep::replace:
    return replace(target, facts);
  case MirrorStep::remove:
    return remove(target, facts);
  case MirrorStep::foreign:
    // What was heard has the mark of the cluster, or is read now.
    ZOO_TRY_VOID(read_there(target).map([](const auto&) {}));
    return refuse(target, facts, "upstream has one of this name that is not the cluster's",
                  attempts);
  }
  return WorkNext{};
}

Result<json> Mirror::inward(const MirrorKind& kind, const MirrorWish& wish, json object) const {
  ZOO_TRY_VOID(room_.allowed(kind, object));
  ZOO_TRY(auto out, object_in(room_.mapping(), kind.group, kind.kind, object));
  out["metadata"]["annotations"].update(wish.annotations);
  out["metadata"]["labels"].update(wish.labels);
  return out;
}

Result<WorkNext> Mirror::create(const Target& target, const MirrorFacts& facts, unsigned attempts) {
  const auto& row = mirror_kinds()[target.kind];
  auto& side = sides_[target.kind];
  ZOO_TRY(const auto object, read_here(target));
  if (!object || kube::text_at(*object, "/metadata/uid") != facts.here->uid) return WorkNext{};
  const auto wish = dress_object(row, *object, room_.terms());
  if (!wish) return refuse(target, facts, wish.error().message(), attempts);
  const auto body = inward(row, *wish, wish->object);
  if (!body)
    return refuse(target, facts, words_out(room_.mapping(), body.error().message()), attempts);
  auto place = claim(target.kind, target.key, *object);
  if (!place)
    return refuse(target, facts, place.error().message(), attempts,
                  place.error().code() == Code::forbidden);
  if (const auto open = room_.open_namespace(target.at.space); !open) {
    if (open.error().code() == Code::forbidden)
      return refuse(target, facts, open.error().message(), attempts);
    return fail(open.error());
  }
  auto text = kube::text_of(*body);
  room_.pace.spend(text.size());
  const auto lease = room_.as_tenant.take();
  const auto made = (*lease).create_text(
      row.collection(upstream_namespace(room_.id, target.at.space)), std::move(text));
  if (made) {
    auto there = mirror_there(*made);
    const auto version = there.version;
    side.table.note_there(target.key, std::move(there));
    place->done();
    side.table.set_shown(target.key, version); // upstream has nothing to say of it yet
    accepted(target, facts);
    return WorkNext{};
  }
  const auto& error = made.error();
  if (error.code() == Code::already_exists) {
    ZOO_TRY(const auto there, read_there(target));
    if (there && mirror_there(*there).owner.empty())
      return refuse(target, facts, "upstream has one of this name that is not the cluster's",
                    attempts);
    return WorkNext{milliseconds(0)};
  }
  if (error.code() == Code::not_found) room_.lost_namespace(target.at.space);
  if (!is_refusal(error)) return fail(error);
  return refuse(target, facts, words_out(room_.mapping(), error.message()), attempts);
}

Result<WorkNext> Mirror::change(const Target& target, const MirrorFacts& facts, unsigned attempts) {
  const auto& row = mirror_kinds()[target.kind];
  const bool unborn = facts.there->owner == k_unborn;
  const auto since = kube::unix_now() - facts.asked;
  if (!unborn && since < k_asked_seconds)
    return WorkNext{std::chrono::seconds(k_asked_seconds - since)};
  ZOO_TRY(const auto object, read_here(target));
  if (!object || kube::text_at(*object, "/metadata/uid") != facts.here->uid) return WorkNext{};
  const auto wish = dress_object(row, *object, room_.terms());
  if (!wish) return refuse(target, facts, wish.error().message(), attempts);
  ZOO_TRY(const auto raw, read_there(target));
  if (!raw) return WorkNext{milliseconds(0)};
  const auto there = mirror_there(*raw);
  if (there.owner != k_unborn && there.owner != facts.here->uid) return WorkNext{milliseconds(0)};
  // The cluster's API server may have asked since: what was read before that is not wished any
  // more, and what it asks for from here on meets another version.
  const auto last = sides_[target.kind].table.look(target.key);
  if (last && last->asked != facts.asked) return WorkNext{milliseconds(0)};
  note(target.kind, *object); // what is known of it may be older than what was read
  const auto own = room_.mapping();
  ZOO_TRY(auto outward, object_out(own, row.group, row.kind, kube::text_of(*raw)));
  const auto known = kube::texts_at(*raw, "/metadata/annotations");
  const auto keys = known.find(k_keys_annotation);
  const auto body =
      inward(row, *wish,
             dressed_anew(row, std::move(outward), *wish, keys == known.end() ? "" : keys->second));
  if (!body) return refuse(target, facts, words_out(own, body.error().message()), attempts);
  auto place = claim(target.kind, target.key, *object);
  if (!place)
    return refuse(target, facts, place.error().message(), attempts,
                  place.error().code() == Code::forbidden);
  auto text = kube::text_of(*body);
  room_.pace.spend(text.size());
  const auto lease = room_.as_tenant.take();
  const auto done = (*lease).update_text(path_there(row, target.at), std::move(text));
  if (done) {
    sides_[target.kind].table.note_there(target.key, mirror_there(*done));
    place->done();
    room_made(target.kind);
    accepted(target, facts);
    return row.goes_up() ? WorkNext{milliseconds(0)} : WorkNext{};
  }
  if (done.error().code() == Code::invalid && row.remade) return replace(target, facts);
  if (!is_refusal(done.error())) return fail(done.error());
  return refuse(target, facts, words_out(own, done.error().message()), attempts);
}

Result<WorkNext> Mirror::replace(const Target& target, const MirrorFacts& facts) {
  {
    const auto lease = room_.as_tenant.take();
    ZOO_TRY_VOID(
        remove_of(*lease, path_there(mirror_kinds()[target.kind], target.at), facts.there->uid));
  }
  ZOO_TRY(const auto left, read_there(target));
  if (left) return WorkNext{}; // it has finalizers: when it goes, that is heard
  return WorkNext{milliseconds(0)};
}

/// It is not wanted upstream any more. Where that is since the cluster has it no more, it is looked
/// for there once more, in a store that is known.
Result<WorkNext> Mirror::remove(const Target& target, const MirrorFacts& facts) {
  ZOO_TRY_VOID(room_.known(Store::cluster));
  if (is_wanted(target.kind, target.key)) {
    ZOO_TRY(const auto object, read_here(target));
    if (object) {
      note(target.kind, *object);
      const auto now = sides_[target.kind].table.look(target.key);
      if (now && now->here) return WorkNext{milliseconds(0)};
      return WorkNext{k_full_pause, true}; // there is no room for it in the table
    }
  }
  return replace(target, facts);
}

/// What upstream says of it is shown in the cluster.
Result<WorkNext> Mirror::show(const Target& target, const MirrorFacts& facts) {
  const auto& row = mirror_kinds()[target.kind];
  ZOO_TRY(const auto raw, read_there(target));
  if (!raw) return WorkNext{milliseconds(0)};
  const auto there = mirror_there(*raw);
  if (there.owner != facts.here->uid) return WorkNext{milliseconds(0)};
  ZOO_TRY(const auto own, read_here(target));
  if (!own || kube::text_at(*own, "/metadata/uid") != facts.here->uid) return WorkNext{};
  ZOO_TRY(const auto outward,
          object_out(room_.mapping(), row.group, row.kind, kube::text_of(*raw)));
  if (row.resource == "persistentvolumeclaims") ZOO_TRY_VOID(keep_volume(room_, *own, outward));
  const auto path = row.path(target.at.space, target.at.name);
  const auto lease = room_.own.take();
  const auto send = [&](json patch, const char* part) -> Result<void> {
    if (patch.is_null()) return {};
    patch["metadata"]["uid"] = facts.here->uid; // another one's is refused with 422
    const auto done = (*lease).merge_patch(path + part, patch);
    if (!done && !is_gone(done.error())) return fail(done.error());
    return {};
  };
  if (row.shown != nullptr) ZOO_TRY_VOID(send(row.shown(*own, outward), ""));
  if (row.shown_status != nullptr) ZOO_TRY_VOID(send(row.shown_status(*own, outward), "/status"));
  sides_[target.kind].table.set_shown(target.key, there.version);
  return WorkNext{};
}

/// An event says why, in the cluster's words.
Result<WorkNext> Mirror::refuse(const Target& target, const MirrorFacts& facts,
                                const std::string& why, unsigned attempts, bool crowded) {
  const auto print = fingerprint(json(why));
  const WorkNext again{refused_pause(attempts), true};
  if (!facts.here || print == facts.told) return again;
  const auto& row = mirror_kinds()[target.kind];
  const json about = {{"apiVersion", row.group.empty()
                                         ? std::string(row.version)
                                         : fmt::format("{}/{}", row.group, row.version)},
                      {"kind", row.kind},
                      {"namespace", target.at.space},
                      {"name", target.at.name},
                      {"uid", facts.here->uid}};
  const auto lease = room_.own.take();
  const auto told =
      (*lease).create(kube::path({"api", "v1", "namespaces", target.at.space, "events"}),
                      not_synced_event(about, row.kind, why));
  if (!told) log::debug("clusters", "{}: {}: {}", room_.id, target.key, told.error().text());
  sides_[target.kind].table.set_told(target.key, print, crowded);
  log::info("clusters", "{}: {} {} is not taken: {}", room_.id, row.resource, target.key, why);
  room_.changed();
  return again;
}

void Mirror::accepted(const Target& target, const MirrorFacts& facts) {
  if (facts.told == 0) return;
  sides_[target.kind].table.set_told(target.key, 0);
  if (facts.crowded) room_made(target.kind); // for the next of those that have waited
  room_.changed();
}

/// Something of a kind of which the cluster may have so many is not upstream any more, or needs
/// less there. However much goes together, it is looked for once what has room now.
void Mirror::room_made(std::size_t kind) {
  if (mirror_kinds()[kind].ports == nullptr) return;
  room_.queue.add(room_.id, fmt::format("y/{}", kind), Lane::then, k_room_look);
}

/// No more than there is room for: the others would be refused once more, each by a question.
WorkNext Mirror::fill_room(const std::string& rest) {
  const auto kind = static_cast<std::size_t>(std::stoul(rest));
  for (const auto& key : sides_[kind].table.fitting(k_woken))
    room_.queue.add(room_.id, queue_key(kind, key), Lane::then);
  return WorkNext{};
}

void Mirror::set_limits(const MirrorLimits& limits) {
  for (std::size_t kind = 0; kind < sides_.size(); ++kind)
    sides_[kind].table.set_limits(limits);
  for (std::size_t kind = 0; kind < sides_.size(); ++kind)
    room_made(kind);
}

Result<MirrorClaim> Mirror::claim(std::size_t kind, const std::string& key, const json& object,
                                  bool tried) {
  const auto& row = mirror_kinds()[kind];
  auto& side = sides_[kind];
  const bool limited = row.ports != nullptr;
  if (limited && !side.known)
    return fail(Code::unavailable, "what the cluster has upstream is being read: try again");
  const auto ports = limited ? row.ports(object) : 0;
  if (!tried) return side.table.claim(key, ports, kube::text_of(object).size());
  if (limited) ZOO_TRY_VOID(side.table.allows(key, ports));
  return MirrorClaim();
}

void Mirror::made(std::size_t kind, const std::string& key, const json& there) {
  if (sides_[kind].table.note_there(key, mirror_there(there)))
    room_.queue.add(room_.id, queue_key(kind, key), Lane::first);
}

void Mirror::set_asked(std::size_t kind, const std::string& key) {
  sides_[kind].table.set_asked(key, kube::unix_now());
}

Mirror::Counts Mirror::counts() const {
  Counts out;
  out.known = true;
  for (std::size_t kind = 0; kind < sides_.size(); ++kind) {
    const auto& side = sides_[kind];
    out.objects += side.table.size();
    out.refused += side.table.refused();
    out.known = out.known && side.known;
    if (side.table.full()) out.full = mirror_kinds()[kind].resource;
  }
  return out;
}

std::string Mirror::trouble() const {
  const std::scoped_lock lock(mutex_);
  for (const auto& side : sides_)
    if (!side.trouble.empty()) return side.trouble;
  return {};
}

} // namespace zoo::clusters::sync
