// SPDX-License-Identifier: Apache-2.0
// What is done about one pod: both sides are brought a step nearer to each other.
#include "common/base/log.hpp"
#include "common/kube/age.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/record.hpp"
#include "daemon/clusters/sync/pod_calls.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/share_fence.hpp"
#include "daemon/clusters/sync/synced_cluster.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"

#include <algorithm>
#include <charconv>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using Key = PodKey;

constexpr unsigned k_dns_tries = 10, k_fence_tries = 20;
constexpr milliseconds k_fence_pause{250}; ///< until upstream has counted what went
constexpr milliseconds k_dns_pause{500};
constexpr milliseconds k_room_pause{200}; ///< several pods may end together
constexpr std::size_t k_woken = 32;       ///< that are tried again at a time, if there is room
constexpr const char* k_condition = "zoo/Synced"; ///< of a pod that is refused

} // namespace

PodThere SyncedCluster::there_of(const json& pod) {
  PodThere out;
  const auto annotations = kube::texts_at(pod, "/metadata/annotations");
  const auto text = [&](const char* key) {
    const auto found = annotations.find(key);
    return found == annotations.end() ? std::string() : found->second;
  };
  out.uid = kube::text_at(pod, "/metadata/uid");
  out.owner = text(k_uid_annotation);
  out.hash = text(k_hash_annotation);
  out.leaving = !kube::text_at(pod, "/metadata/deletionTimestamp").empty();
  const auto phase = kube::text_at(pod, "/status/phase");
  out.ended = phase == "Succeeded" || phase == "Failed";
  const auto version = kube::text_at(pod, "/metadata/resourceVersion");
  std::from_chars(version.data(), version.data() + version.size(), out.version);
  for (const auto& each : kube::list_at(pod, "/status/conditions")) {
    if (each.value("type", json()) != "PodScheduled" || each.value("status", json()) != "False" ||
        each.value("reason", json()) != "Unschedulable")
      continue;
    out.waits_since = kube::unix_seconds(kube::text_at(each, "/lastTransitionTime"));
    out.lacks = lacking(kube::text_at(each, "/message"));
  }
  const auto* const grace = kube::find_at(pod, out.leaving ? "/metadata/deletionGracePeriodSeconds"
                                                           : "/spec/terminationGracePeriodSeconds");
  if (grace != nullptr && grace->is_number_integer())
    out.grace = std::max<std::int64_t>(grace->get<std::int64_t>(), 0);
  const bool own = kube::value_at(pod, "/spec/hostNetwork") != true;
  if (own && !out.ended && !out.owner.empty())
    for (const auto& each : kube::list_at(pod, "/status/podIPs"))
      if (auto ip = kube::text_at(each, "/ip"); !ip.empty()) out.addresses.push_back(std::move(ip));
  return out;
}

void SyncedCluster::give_back(const std::string& key) {
  if (table_.uncount(key)) room_made();
}

/// Whatever the cluster calls by this name by now, and if it is nothing: what upstream runs of it
/// is counted until it has ended or is gone there. `pod`: as upstream has it.
void SyncedCluster::count_there(const std::string& key, const json& pod, bool anew) {
  const auto there = there_of(pod);
  const auto facts = table_.look(key);
  // One that zood has not made is the platform's; of an earlier one nothing is said.
  if (!facts || !facts->there || facts->there->uid != there.uid || there.owner.empty()) return;
  if (there.ended) return give_back(key);
  if (facts->counted && !anew) return;
  const bool ours = facts->here && facts->here->uid == there.owner;
  if (ours)
    table_.count(key, pod_claims(pod, facts->terms.containers), facts->node, anew);
  else
    table_.count(key, pod_claims(pod), kube::text_at(pod, "/spec/nodeName"), anew);
}

void SyncedCluster::room_made() {
  if (table_.refused() != 0) queue_.add(id_, "f/", Lane::then, k_room_pause);
}

/// No more than there is room for: the others would be refused once more.
SyncedCluster::Next SyncedCluster::fill_room() {
  for (const auto& key : table_.fitting(k_woken))
    queue_.add(id_, "p/" + key, Lane::then);
  return Next{};
}

/// As zood, since the namespace may lack its binding while it goes. The path is the cluster's own.
/// What is not there is believed of the store that it was in alone, so that is asked afterwards.
Result<std::optional<json>> SyncedCluster::read_there(const std::string& key) {
  const auto lease = upstream_.take();
  auto pod = (*lease).get(Key(key).path_there(id_));
  if (!pod && pod.error().code() == Code::not_found) {
    ZOO_TRY_VOID(known_store(*lease, Store::upstream));
    if (table_.set_there(key, std::nullopt)) room_made();
    return std::nullopt;
  }
  if (!pod) return fail(std::move(pod).error());
  auto there = there_of(*pod);
  const auto before = table_.look(key);
  if (before && before->there && before->there->uid != there.uid)
    ZOO_TRY_VOID(
        known_store(*lease, Store::upstream)); // another store may have one of this name, too
  table_.set_there(key, std::move(there));
  count_there(key, *pod);
  return std::optional(*std::move(pod));
}

/// What upstream says of it now is taken over, and shown in the cluster.
Result<void> SyncedCluster::take_heard(const std::string& key, const PodTable::Taken& taken) {
  if (!taken.heard) return {};
  const auto& facts = taken.facts;
  std::string text;
  if (taken.heard->object) text = *taken.heard->object;
  if (taken.heard->gone && !text.empty()) {
    // It may be told late, of an earlier one of this name.
    const auto uid = kube::text_at(kube::parse_foreign(text), "/metadata/uid");
    if (facts.there && facts.there->uid == uid && table_.set_there(key, std::nullopt)) room_made();
    return {};
  }
  if (text.empty()) {
    const auto read = read_there(key);
    if (!read) {
      table_.hear(key, nullptr, false); // it is read again
      return fail(read.error());
    }
    if (!*read) return {};
    text = kube::text_of(**read);
  }
  const auto object = kube::parse_foreign(text);
  if (!object.is_object()) return fail(Code::unavailable, "upstream sent a pod that is no JSON");
  auto there = there_of(object);
  if (facts.there && there.version < facts.there->version)
    return {}; // a later one was seen, be it this one or one that has its name by now
  const bool ours = facts.here && there.owner == facts.here->uid;
  table_.set_there(key, std::move(there));
  count_there(key, object);
  if (!ours || facts.here->given_up) return {};
  return show(key, facts, object);
}

/// Is that status of upstream's to be shown by the cluster's pod?
bool SyncedCluster::is_shown(const PodFacts& facts, const json& status) {
  return !status.empty() && (facts.here->ran || !says_nothing(status));
}

/// `pod`: as upstream has it.
Result<void> SyncedCluster::show(const std::string& key, const PodFacts& facts, const json& pod) {
  ZOO_TRY(const auto own, pod_out(mapping(), kube::text_of(status_alone(pod))));
  const auto status = shown_status(own, facts.terms);
  const auto print = fingerprint(status);
  if (facts.shows(print) || !is_shown(facts, status)) return {};
  const auto lease = own_.take();
  const auto done = patch_status(*lease, Key(key), status_patch(status, facts.terms));
  if (!done && !is_gone(done.error())) {
    table_.hear(key, nullptr, false); // it is read again
    return fail(done.error());
  }
  if (!done) {
    log::debug("clusters", "{}: the status of pod {} is not taken: {}", id_, key,
               done.error().text());
    return {};
  }
  table_.set_shown(key, print);
  return {};
}

Result<SyncedCluster::Next> SyncedCluster::work_pod(const std::string& key, unsigned attempts) {
  if (!known_) return Next{milliseconds(1'000)};
  const auto taken = table_.take(key);
  if (!taken) {
    tell_if_other(); // a refusal has perhaps gone with it
    return Next{};
  }
  const auto heard = take_heard(key, *taken);
  const auto facts = table_.look(key);
  if (!facts) return heard.map([] { return Next{}; });
  const auto step = next_step(facts->here, facts->there, facts->was_there);
  const bool ends = step == PodStep::stop || step == PodStep::replace;
  // That the cluster does not take what upstream says keeps nothing of its alive there.
  if (!heard && ends) ZOO_TRY_VOID(stop_pod(key, *facts).map([](const Next&) {}));
  if (!heard) return fail(heard.error());
  if (step != PodStep::nothing) log::debug("clusters", "{}: pod {}: {}", id_, key, step_name(step));
  if (step == PodStep::create || step == PodStep::change)
    if (const auto pause = pace_.wait(); pause.count() != 0) return Next{pause};
  switch (step) {
  case PodStep::nothing:
    tell_if_other();
    // Is what is counted there? Whether something was made is not known where the answer was lost.
    if (!facts->there && facts->counted) {
      ZOO_TRY_VOID(read_there(key).map([](const auto&) {}));
      return Next{milliseconds(0)};
    }
    return look_for_room(key, *facts, attempts);
  case PodStep::create:
    return create_pod(key, *facts, attempts);
  case PodStep::change:
    return change_pod(key, *facts, attempts);
  case PodStep::stop:
  case PodStep::replace:
    return stop_pod(key, *facts);
  case PodStep::evict: {
    const auto lease = own_.take();
    ZOO_TRY_VOID(remove_of(*lease, Key(key).path(), facts->here->uid, -1));
    return Next{};
  }
  case PodStep::finish:
    return finish_pod(key, *facts);
  case PodStep::foreign:
    give_back(key);
    return refuse(key, *facts, "upstream has a pod of this name that is not the cluster's",
                  attempts);
  }
  return Next{};
}

Result<std::optional<json>> SyncedCluster::read_here(const std::string& key, std::string_view uid) {
  const auto lease = own_.take();
  auto pod = (*lease).get(Key(key).path());
  if (!pod && pod.error().code() != Code::not_found) return fail(std::move(pod).error());
  if (!pod || kube::text_at(*pod, "/metadata/uid") != uid) return std::nullopt;
  return std::optional(*std::move(pod));
}

Result<SyncedCluster::Next> SyncedCluster::create_pod(const std::string& key, const PodFacts& facts,
                                                      unsigned attempts) {
  const Key at(key);
  ZOO_TRY(const auto pod, read_here(key, facts.here->uid));
  if (!pod) return Next{};
  const auto terms = this->terms();
  if (terms.dns.empty() && wish().dns && asks_cluster_dns(*pod)) {
    // Upstream never lets anybody change where a pod asks for names.
    if (attempts < k_dns_tries) return Next{k_dns_pause, true};
    return refuse(key, facts,
                  "it is to ask the DNS of the virtual cluster for names, and Service "
                  "kube-system/kube-dns, which zood makes, is not there",
                  attempts);
  }
  if (const auto good = check_new_pod(*pod); !good)
    return refuse(key, facts, good.error().message(), attempts);
  const auto dressed = dress(*pod, terms);
  if (!dressed) return refuse(key, facts, dressed.error().message(), attempts);
  const auto own = mapping();
  auto body = pod_in(own, *dressed);
  // What it is to have later makes it another one than this.
  if (body && dressed->has_later()) (*body)["metadata"]["annotations"][k_hash_annotation] = "";
  if (!body) return refuse(key, facts, words_out(own, body.error().message()), attempts);
  // By what was read now: what was heard of it may be older than what is made of it.
  if (const auto shortage = table_.reserve(key, pod_claims(*pod)))
    return refuse(key, facts,
                  fmt::format("it needs {} of {}, and {} are left of the share of the virtual "
                              "cluster",
                              shortage->wanted.text(), shortage->resource,
                              shortage->left.negative() ? "0" : shortage->left.text()),
                  attempts);
  auto text = kube::text_of(*body);
  const auto bytes = text.size() + token_bytes(*pod);
  if (!table_.hold_bytes(key, bytes)) {
    give_back(key);
    return refuse(key, facts, no_room_for(bytes), attempts);
  }
  if (const auto open = open_namespace(at.space); !open) {
    give_back(key);
    if (open.error().code() == Code::forbidden)
      return refuse(key, facts, open.error().message(), attempts);
    return fail(open.error());
  }
  pace_.spend(text.size());
  const auto made = [&] {
    const auto lease = as_tenant_.take();
    return (*lease).create_text(
        kube::path({"api", "v1", "namespaces", upstream_namespace(id_, at.space), "pods"}),
        std::move(text));
  }();
  if (made) {
    table_.set_there(key, there_of(*made));
    if (facts.here->tokens) tokens_.begin(key, *pod);
    ZOO_TRY_VOID(accepted(key, facts));
    return Next{};
  }
  const auto& error = made.error();
  if (error.code() == Code::already_exists) {
    ZOO_TRY(const auto there, read_there(key));
    if (there && there_of(*there).owner.empty())
      give_back(key);
    else if (there)
      count_there(key, *there, true);
    return Next{milliseconds(0)};
  }
  if (error.code() == Code::not_found) spaces_.lose(at.space); // the namespace has gone
  // It may have been made all the same: it stays counted until it is tried again, or looked for.
  if (!is_refusal(error)) return fail(error);
  give_back(key);
  if (is_of_fence(error.message()) && attempts < k_fence_tries) return Next{k_fence_pause, true};
  return refuse(key, facts, words_out(own, error.message()), attempts);
}

Result<SyncedCluster::Next> SyncedCluster::change_pod(const std::string& key, const PodFacts& facts,
                                                      unsigned attempts) {
  const Key at(key);
  ZOO_TRY(const auto pod, read_here(key, facts.here->uid));
  if (!pod) return Next{};
  const auto dressed = dress(*pod, terms());
  if (!dressed) return refuse(key, facts, dressed.error().message(), attempts);
  const auto own = mapping();
  const auto lease = as_tenant_.take();
  const auto path = at.path_there(id_);
  ZOO_TRY(const auto raw, (*lease).get(path));
  if (there_of(raw).owner != facts.here->uid) {
    table_.set_there(key, there_of(raw));
    return Next{milliseconds(0)};
  }
  // The hash is written last: what was not done when zood was killed is done again.
  ZOO_TRY(const auto parts, change_parts(*lease, key, *pod, *dressed, raw));
  ZOO_TRY(auto there, pod_out(own, kube::text_of(parts.latest)));
  const auto known = kube::texts_at(raw, "/metadata/annotations");
  const auto keys = known.find(k_keys_annotation);
  auto next = dressed_again(std::move(there), *dressed, keys == known.end() ? "" : keys->second);
  auto body = pod_in(own, next);
  if (!body) return refuse(key, facts, words_out(own, body.error().message()), attempts);
  (*body)["metadata"]["annotations"].update(dressed->annotations);
  (*body)["metadata"]["labels"].update(dressed->labels);
  if (parts.refused) (*body)["metadata"]["annotations"][k_hash_annotation] = "";
  // What is less than before is free when upstream has taken it.
  auto text = kube::text_of(*body);
  const auto bytes = text.size() + token_bytes(*pod);
  if (!table_.hold_bytes(key, std::max(bytes, facts.bytes)))
    return refuse(key, facts, no_room_for(bytes), attempts);
  pace_.spend(text.size());
  const auto done = (*lease).update_text(path, std::move(text));
  if (done) {
    table_.hold_bytes(key, bytes);
    table_.set_there(key, there_of(*done));
    if (parts.refused)
      return refuse(key, facts, words_out(own, parts.refused->message()), attempts);
    ZOO_TRY_VOID(accepted(key, facts));
    return Next{};
  }
  if (!is_refusal(done.error())) return fail(done.error());
  return refuse(key, facts, words_out(own, done.error().message()), attempts);
}

/// Upstream's goes: of the cluster's with the same grace. Where the cluster's is not there any
/// more, it is made sure that the cluster's store is the one that it was in.
Result<SyncedCluster::Next> SyncedCluster::stop_pod(const std::string& key, const PodFacts& facts) {
  if (!facts.here) {
    const auto lease = own_.take();
    const auto pod = (*lease).get(Key(key).path());
    if (pod && kube::text_at(*pod, "/metadata/uid") == facts.there->owner) return Next{};
    if (!pod && pod.error().code() != Code::not_found) return fail(pod.error());
    ZOO_TRY_VOID(
        known_store(*lease, Store::cluster)); // afterwards: so what was read is of this store
  }
  // Of one that is not the cluster's any more its own grace may be years.
  const bool same = facts.here && facts.here->uid == facts.there->owner && !facts.here->stranded &&
                    !facts.here->given_up;
  const auto grace = same ? facts.grace : std::min(facts.there->grace, k_longest_grace);
  {
    const auto lease = as_tenant_.take();
    ZOO_TRY_VOID(remove_of(*lease, Key(key).path_there(id_), facts.there->uid, grace));
  }
  // One without a grace is gone, and that is heard; one that a list had may have gone before.
  ZOO_TRY(const auto left, read_there(key));
  return left ? Next{} : Next{milliseconds(0)};
}

/// Upstream has it no more: it is over in the cluster, too.
Result<SyncedCluster::Next> SyncedCluster::finish_pod(const std::string& key,
                                                      const PodFacts& facts) {
  ZOO_TRY(const auto there, read_there(key));
  if (there && there_of(*there).owner == facts.here->uid) return Next{milliseconds(0)};
  const auto lease = own_.take();
  ZOO_TRY_VOID(remove_of(*lease, Key(key).path(), facts.here->uid, 0));
  return Next{};
}

/// It stays Pending, and an event says why, in the cluster's words: one that failed would be made
/// again and again.
Result<SyncedCluster::Next> SyncedCluster::refuse(const std::string& key, const PodFacts& facts,
                                                  const std::string& why, unsigned attempts) {
  const auto pause = refused_pause(attempts);
  const auto print = fingerprint(json(why));
  if (print == facts.told || !facts.here) return Next{pause, true};
  const Key at(key);
  const auto lease = own_.take();
  const auto now = now_text();
  const json about = {{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"namespace", at.space},
                      {"name", at.name},
                      {"uid", facts.here->uid}};
  const auto event = not_synced_event(about, "pod", why);
  const auto told =
      (*lease).create(kube::path({"api", "v1", "namespaces", at.space, "events"}), event);
  if (!told) log::debug("clusters", "{}: {}: {}", id_, key, told.error().text());
  const json condition = {{"type", k_condition},
                          {"status", "False"},
                          {"reason", "NotSynced"},
                          {"message", why.substr(0, 900)},
                          {"lastTransitionTime", now}};
  const auto said = patch_status(
      *lease, at,
      {{"metadata", {{"uid", facts.here->uid}}}, {"status", {{"conditions", {condition}}}}});
  if (!said && !is_gone(said.error())) return fail(said.error());
  table_.set_told(key, print);
  log::info("clusters", "{}: pod {} is not taken: {}", id_, key, why);
  tell_if_other();
  return Next{pause, true};
}

/// What was told of a refusal is taken back.
Result<void> SyncedCluster::accepted(const std::string& key, const PodFacts& facts) {
  if (facts.told == 0) return {};
  table_.set_told(key, 0);
  room_made(); // there is perhaps some for the next one, too
  const auto lease = own_.take();
  const auto done =
      patch_status(*lease, Key(key),
                   {{"metadata", {{"uid", facts.here->uid}}},
                    {"status", {{"conditions", {{{"type", k_condition}, {"$patch", "delete"}}}}}}});
  if (!done && !is_gone(done.error())) return fail(done.error());
  tell_if_other();
  return {};
}

} // namespace zoo::clusters::sync
