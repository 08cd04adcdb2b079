// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/synced_cluster.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "common/kube/json_reads.hpp"
#include "daemon/clusters/sync/own_api.hpp"
#include "daemon/clusters/sync/own_watch.hpp"
#include "daemon/clusters/sync/pod_tokens.hpp"
#include "daemon/clusters/sync/usage_api.hpp"
#include "daemon/clusters/sync/volumes.hpp"
#include "daemon/clusters/sync/words.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/reconcile/runner.hpp"
#include "daemon/tenants/footprint.hpp"

#include <pthread.h>

#include <algorithm>

namespace zoo::clusters::sync {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* k_pods = "/api/v1/pods";
constexpr const char* k_bound = "spec.nodeName!=";
constexpr milliseconds k_call_time{10'000};
/// Bytes of an answer of the cluster's own API server; in memory it is some sixteen times as large.
constexpr std::size_t k_most_answer = 8u << 20;
constexpr milliseconds k_hook_look{30'000}; ///< whoever is cluster-admin can take it away
constexpr milliseconds k_volume_look{60'000};
constexpr milliseconds k_not_known{1'000}; ///< until both sides have been read
constexpr milliseconds k_strange{3'000};   ///< until it is looked whether a store is back
constexpr milliseconds k_dns_look{30'000}, k_no_dns_look{500};

std::string pod_key(const json& pod) {
  return kube::text_at(pod, "/metadata/namespace") + "/" + kube::text_at(pod, "/metadata/name");
}

} // namespace

SyncedCluster::SyncedCluster(const SyncerParts& parts, FairQueue& queue, SyncWish wish)
    : parts_(parts), queue_(queue), id_(wish.id), options_(wish.options),
      own_([this] { return connect_own(); }), upstream_(*parts.upstream),
      as_tenant_(*parts.acting, id_), own_store_(wish.own_store),
      upstream_store_(wish.upstream_store), api_address_(wish.api_address), room_(make_room()),
      mirror_(room_, wish.options), labels_(room_), tokens_(room_, table_), events_(room_, table_),
      classes_(room_), judge_(room_, mirror_), usage_(room_, table_) {
  table_.use(stored_);
  set_wish(std::move(wish));
  mirror_.start();
  labels_.start();
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

SyncedCluster::~SyncedCluster() {
  stop_.request_stop();
  thread_.request_stop();
}

void SyncedCluster::set_wish(SyncWish wish) {
  Ledger::Sums share;
  if (!wish.share.empty()) share = share_capacity(wish.share);
  const auto nodes = wish.all_nodes();
  const auto weight = wish.weight;
  const auto limits = wish.limits;
  std::vector<std::string> left, back; // nodes that it has no more, and has again
  {
    const std::scoped_lock lock(mutex_);
    const bool other = !wish.same(wish_);
    const bool other_share = wish.share != wish_.share;
    // A connection keeps its certificate, which ends some day, and whom it trusts.
    if (wish.access_print != wish_.access_print) own_.renew();
    wish_ = std::move(wish);
    if (!other) return;
    if (other_share) spaces_.lose_all(); // their fences are written anew
    const auto before = std::exchange(kept_, {nodes.begin(), nodes.end()});
    for (const auto& name : before)
      if (!kept_.contains(name)) leaving_.try_emplace(name, FairQueue::Clock::now());
    for (const auto& [name, since] : leaving_)
      (kept_.contains(name) ? back : left).push_back(name);
    for (const auto& name : back)
      leaving_.erase(name);
    const auto old = [this](const std::string& name) { return !kept_.contains(name); };
    std::erase_if(node_trouble_, [this, &old](const auto& each) {
      return old(each.first) && !leaving_.contains(each.first);
    });
    std::erase_if(nodes_seen_, old);
    std::erase_if(nodes_had_, old);
    std::erase_if(others_, [&old](const auto& each) { return old(each.first); });
  }
  table_.set_share(std::move(share));
  mirror_.set_limits(limits);
  queue_.set_weight(id_, weight);
  queue_.add(id_, "o/", Lane::first); // nodes that it had
  for (const auto& name : nodes)
    queue_.add(id_, "n/" + name, Lane::first);
  for (const auto& name : left)
    queue_.add(id_, "r/" + name, Lane::first);
  for (const auto& name : back)
    for (const auto& key : table_.strand(name, false))
      queue_.add(id_, "p/" + key, Lane::first);
  queue_.add(id_, "l/", Lane::first, milliseconds(1'000));
  queue_.add(id_, "d/", Lane::first);
  queue_.add(id_, "k/", Lane::first);
  queue_.add(id_, "w/", Lane::first);
  queue_.add(id_, "c/", Lane::then);
  queue_.add(id_, "v/", Lane::then);
  queue_.add(id_, "u/", Lane::then);
  tell_if_other();
}

SyncRoom SyncedCluster::make_room() {
  return {.id = id_,
          .queue = queue_,
          .stored = stored_,
          .pace = pace_,
          .own = own_,
          .upstream = upstream_,
          .as_tenant = as_tenant_,
          .list_turns = list_turns_,
          .access = [this] { return wish().access(); },
          .hear = parts_.hear,
          .mapping = [this] { return mapping(); },
          .terms =
              [this] {
                const auto now = wish();
                return MirrorTerms{id_, now.named, now.nodes};
              },
          .known_store = [this](auto& api, Store whose) { return known_store(api, whose); },
          .open_namespace = [this](const auto& space) { return open_namespace(space); },
          .lost_namespace = [this](const auto& space) { spaces_.lose(space); },
          .allowed = [this](const auto& kind,
                            const auto& object) { return parts_.allowed(id_, kind, object); },
          .changed = [this] { tell_if_other(); },
          .patrol = parts_.patrol,
          .calls = stop_.get_token()};
}

/// The Service by which pods reach its API server; it is looked at again with each patrol.
Result<void> SyncedCluster::keep_api() {
  const auto now = wish();
  ZOO_TRY(auto api, keep_own_api(room_, now.advertised, now.port));
  {
    const std::scoped_lock lock(mutex_);
    api_address_ = std::move(api.address);
    api_trouble_ = std::move(api.trouble);
  }
  tell_if_other();
  return {};
}

std::map<std::string, std::size_t> SyncedCluster::objects() const {
  std::map<std::string, std::size_t> out;
  for (std::size_t kind = 0; kind < mirror_kinds().size(); ++kind)
    out.emplace(mirror_kinds()[kind].resource, mirror_.objects(kind));
  return out;
}

SyncWish SyncedCluster::wish() const {
  const std::scoped_lock lock(mutex_);
  return wish_;
}

translate::Mapping SyncedCluster::mapping() const { return {id_, parts_.names()}; }

std::unique_ptr<upstream::ControlApi> SyncedCluster::connect_own() {
  kube::KubeClientOptions options;
  options.timeout = k_call_time;
  options.repeatable = true;
  options.max_answer = k_most_answer;
  options.stop = stop_.get_token();
  auto access = wish().access();
  // What cannot be read fails at the first request, with what is missing.
  return parts_.connect_own(access ? *std::move(access) : kube::ClusterAccess{},
                            std::move(options));
}

SyncState SyncedCluster::state() const {
  const auto refused = table_.refused();
  const auto others = mirror_.counts();
  const auto unheard = mirror_.trouble();
  const std::scoped_lock lock(mutex_);
  SyncState out;
  out.api_address = api_address_;
  out.api_trouble = api_trouble_;
  out.own_store = own_store_;
  out.upstream_store = upstream_store_;
  const auto wanted = kept_.size();
  if (!node_trouble_.empty()) {
    const auto& [name, trouble] = *node_trouble_.begin();
    out.nodes_reason = trouble.reason;
    out.nodes_message = fmt::format("node {}: {}", name, trouble.message);
    if (node_trouble_.size() > 1)
      out.nodes_message +=
          fmt::format(" ({} nodes are not as they should be)", node_trouble_.size());
  } else {
    out.nodes_ready = nodes_seen_.size() >= wanted;
    out.nodes_reason = out.nodes_ready ? "Ready" : "Preparing";
    out.nodes_message = out.nodes_ready ? "its nodes are there" : "its nodes are being made";
  }
  const auto& trouble = own_trouble_.message.empty() ? upstream_trouble_ : own_trouble_;
  if (!trouble.message.empty()) {
    out.reason = trouble.reason;
    out.message = trouble.message;
  } else if (upstream_away_) {
    out.reason = "NotReached";
    out.message = "the upstream does not answer: nothing is copied or deleted before it does";
  } else if (!unheard.empty()) {
    out.reason = "NotReached";
    out.message = unheard;
  } else if (!known_ || !others.known || api_address_.empty()) {
    out.reason = "Reading";
    out.message = "both sides are being read";
  } else if (crowded_) {
    out.reason = "TooMany";
    out.message =
        fmt::format("it has more than {} pods, and the rest are not upstream", PodTable::k_most);
  } else if (refused != 0) {
    out.reason = "PodsRefused";
    out.message =
        fmt::format("{} of its pods are refused: each has an event that says why", refused);
  } else if (others.refused != 0) {
    out.reason = "ObjectsRefused";
    out.message = fmt::format("{} of its Services, ConfigMaps and other objects are refused: each "
                              "has an event that says why",
                              others.refused);
  } else if (!others.full.empty()) {
    out.reason = "TooMany";
    out.message =
        fmt::format("it has more than {} {} that pods need, and the rest are not upstream",
                    MirrorTable::k_most, others.full);
  } else {
    out.synced = true;
    out.reason = "Synced";
    out.message = "its pods are upstream, and what they need";
  }
  return out;
}

void SyncedCluster::tell_if_other() {
  auto now = state();
  {
    const std::scoped_lock lock(mutex_);
    if (now == told_) return;
    told_ = std::move(now);
  }
  parts_.changed(id_);
}

void SyncedCluster::set_trouble(Trouble& which, Trouble now) {
  bool other = false;
  {
    const std::scoped_lock lock(mutex_);
    other = which.message != now.message;
    which = now;
  }
  if (other && !now.message.empty()) log::warning("clusters", "{}: {}", wish().key, now.message);
  tell_if_other();
}

void SyncedCluster::set_upstream_away(bool away) {
  if (upstream_away_.exchange(away) == away) return;
  if (!away) { // what was tried meanwhile has long pauses by now
    reread();
    look_at_nodes();
    for (std::size_t kind = 0; kind < mirror_kinds().size(); ++kind)
      mirror_.reread(kind);
  }
  tell_if_other();
}

/// Is this the store that it was? A kube-system of another UID is another cluster's, or one that
/// lost its data: what is not in it is not gone.
Result<void> SyncedCluster::known_store(upstream::ControlApi& api, Store whose) {
  ZOO_TRY(const auto uid, store_uid(api));
  const auto bit = static_cast<unsigned>(whose);
  bool learned = false;
  {
    const std::scoped_lock lock(mutex_);
    auto& known = whose == Store::upstream ? upstream_store_ : own_store_;
    if (known.empty()) {
      known = uid;
      learned = true;
    }
    if (known == uid)
      strange_ &= ~bit;
    else if ((strange_.fetch_or(bit) & bit) == 0)
      queue_.add(id_, "a/", Lane::first); // which looks whether it is back
    if (known != uid)
      return fail(Code::internal,
                  "{} is not what it was: its namespace kube-system has UID {}, and had {}; "
                  "nothing is copied or deleted until that one is back",
                  whose == Store::upstream ? "the upstream" : "the store of the virtual cluster",
                  uid, known);
  }
  if (learned) tell_if_other();
  return {};
}

// ---- its own side ----

/// Where the cluster's names are asked for. Looked at again, since Services are re-made.
Result<SyncedCluster::Next> SyncedCluster::learn_dns() {
  std::string address;
  {
    const auto lease = own_.take();
    const auto service = (*lease).get("/api/v1/namespaces/kube-system/services/kube-dns");
    if (!service && service.error().code() != Code::not_found) return fail(service.error());
    if (service) address = kube::text_at(*service, "/spec/clusterIP");
    if (address == "None") address.clear();
  }
  bool learned = false, waits = false;
  {
    const std::scoped_lock lock(mutex_);
    learned = dns_.empty() && !address.empty();
    dns_ = std::move(address);
    waits = dns_.empty() && wish_.dns;
  }
  if (learned) // some have perhaps waited for it
    for (const auto& refused : table_.refused_keys())
      queue_.add(id_, "p/" + refused, Lane::then);
  return Next{reconcile::jittered(waits ? k_no_dns_look : k_dns_look)};
}

DressTerms SyncedCluster::terms() const {
  const std::scoped_lock lock(mutex_);
  DressTerms out;
  out.id = id_;
  out.named_node = wish_.named;
  out.dns = dns_;
  out.fenced = parts_.quota_fence && !wish_.share.empty();
  out.api_address = api_address_;
  out.shared = parts_.names();
  if (!wish_.named) out.reserved = parts_.reserved();
  return out;
}

void SyncedCluster::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), ("sync-" + id_).c_str());
  keep_hearing(
      stop, [&] { return follow(stop); },
      [this](const Error& error) {
        const bool replaced = error.code() == Code::internal;
        set_trouble(own_trouble_, {replaced ? "StoreReplaced" : "NotReached", error.message()});
      });
}

/// All pods that are bound, then what becomes of them, until it is time to read them all again.
Result<void> SyncedCluster::follow(const std::stop_token& stop) {
  ZOO_TRY_VOID(room_.known(Store::cluster));
  ZOO_TRY_VOID(learn_dns().map([](const Next&) {}));
  // What a pod is upstream depends on it: of one that is not known yet all would be another thing.
  if (terms().api_address.empty()) ZOO_TRY_VOID(keep_api());
  ZOO_TRY(auto access, wish().access());
  crowded_ = false;
  std::unordered_set<std::string> seen;
  bool listing_over = false;
  OwnWatch watch{.turns = list_turns_};
  watch.path = k_pods;
  watch.selectors = {{"fieldSelector", k_bound}};
  watch.found = [&](const json& pod) {
    note(pod, listing_over);
    // What is not noted need not be kept: so this is no larger than the table.
    const auto key = pod_key(pod);
    if (!listing_over && table_.look(key)) seen.insert(key);
  };
  watch.gone = [this](const json& pod) {
    const auto key = pod_key(pod);
    mirror_.drop_pod(key);
    if (table_.drop_here(key)) queue_.add(id_, "p/" + key, Lane::first);
  };
  watch.listed = [&] {
    listing_over = true;
    for (const auto& key : table_.keep_here(seen)) {
      mirror_.drop_pod(key);
      queue_.add(id_, "p/" + key, Lane::first);
    }
    seen.clear();
    listed_ = true;
    mirror_.pods_noted();
    set_trouble(own_trouble_, {});
    queue_.add(id_, "a/", Lane::first);
  };
  return parts_.hear(std::move(access), watch, parts_.patrol, stop_.get_token(), stop);
}

/// Is it as it was, but for its status? Without a generation, which pods have since
/// Kubernetes 1.33, nobody knows; what is set of readiness gates counts, too.
bool SyncedCluster::same_wish(const PodFacts& before, const PodFacts& now) {
  return before.here && before.here->uid == now.terms.uid && now.terms.generation != 0 &&
         before.terms.generation == now.terms.generation && before.texts == now.texts &&
         now.terms.gates.empty();
}

/// `told`: by the watch; else a list has it, by which all is looked at anew.
void SyncedCluster::note(const json& pod, bool told) {
  const auto key = pod_key(pod);
  const auto before = table_.look(key);
  if (!before && table_.size() >= PodTable::k_most) {
    if (!crowded_.exchange(true)) tell_if_other();
    return;
  }
  PodFacts facts;
  facts.node = kube::text_at(pod, "/spec/nodeName");
  facts.terms = status_terms(pod);
  facts.texts = fingerprint(
      {kube::value_at(pod, "/metadata/labels"), kube::value_at(pod, "/metadata/annotations")});
  facts.shown = fingerprint(shown_status(pod, facts.terms));
  const auto* const grace = kube::find_at(pod, "/metadata/deletionGracePeriodSeconds");
  if (grace != nullptr && grace->is_number_integer()) facts.grace = grace->get<std::int64_t>();
  PodHere here;
  here.uid = facts.terms.uid;
  here.leaving = !kube::text_at(pod, "/metadata/deletionTimestamp").empty();
  here.ran = !kube::text_at(pod, "/status/startTime").empty();
  const auto phase = kube::text_at(pod, "/status/phase");
  here.ended = phase == "Succeeded" || phase == "Failed";
  here.given_up = phase == "Failed" && !here.ran &&
                  kube::text_at(pod, "/status/reason").starts_with(k_no_room_reason);
  here.bound = keeps_node(facts.node);
  here.stranded = !here.bound && time_is_over(facts.node);
  const bool same = told && before && same_wish(*before, facts);
  if (same) {
    here.hash = before->here->hash;
    here.tokens = before->here->tokens;
  } else {
    here.tokens = !token_wants(pod).empty();
    // What cannot be dressed is told when it is made.
    if (const auto dressed = dress(pod, terms())) here.hash = dressed->hash;
  }
  // One that upstream does not run any more needs nothing there.
  const auto runs = [](const PodHere& each) { return each.bound && !each.ended; };
  if (!same || runs(*before->here) != runs(here)) {
    if (runs(here))
      mirror_.note_pod(key, pod);
    else
      mirror_.drop_pod(key);
  }
  const bool leaves = here.leaving;
  facts.here = std::move(here);
  if (table_.note_here(key, std::move(facts)) && known_)
    queue_.add(id_, "p/" + key, leaves ? Lane::first : Lane::then);
}

// ---- upstream's ----

void SyncedCluster::hear_pod(const std::string& key, std::string_view object, bool gone) {
  table_.hear(key, std::make_shared<const std::string>(object), gone);
  if (known_) queue_.add(id_, "p/" + key, Lane::first);
}

void SyncedCluster::hear_node(const std::string& name) {
  if (keeps_node(name)) queue_.add(id_, "n/" + name, Lane::first);
}

void SyncedCluster::look_at_nodes() {
  const auto now = wish();
  for (const auto& name : now.node_names())
    queue_.add(id_, "n/" + name, Lane::first);
}

void SyncedCluster::reread() { queue_.add(id_, "a/", Lane::first); }

/// A pod upstream as a list has it: what differs is looked at by itself, and read anew for that.
void SyncedCluster::compare(const std::string& key, const json& object) {
  const auto there = there_of(object);
  table_.note_there(key, there);
  count_there(key, object);
  const auto facts = table_.look(key);
  if (!facts) return;
  const auto text = kube::text_of(object);
  if (!there.owner.empty()) table_.note_bytes(key, text.size() + token_bytes_there(object));
  if (!facts->here || facts->here->uid != there.owner) return;
  const auto own = pod_out(mapping(), kube::text_of(status_alone(object)));
  const auto status = own ? shown_status(*own, facts->terms) : json::object();
  if (own && (facts->shows(fingerprint(status)) || !is_shown(*facts, status))) return;
  table_.hear(key, nullptr, false);
}

/// Namespaces upstream that the cluster has deleted.
Result<void> SyncedCluster::sweep_namespaces(upstream::ControlApi& api) {
  ZOO_TRY(const auto found, read_namespaces(api));
  const auto lease = own_.take();
  const WorkTime time;
  const auto last = std::exchange(swept_spaces_, "");
  for (const auto& space : found) {
    if (space.name <= last) continue;
    if (time.over()) break; // the next patrol goes on behind it
    swept_spaces_ = space.name;
    const auto own = cluster_namespace(id_, space.name);
    if (!own || space.terminating || !space.labelled || space.label != id_) continue;
    const auto there = (*lease).get(kube::path({"api", "v1", "namespaces", *own}));
    if (there || there.error().code() != Code::not_found) continue;
    ZOO_TRY_VOID(known_store(*lease, Store::cluster));
    ZOO_TRY_VOID(api.remove_read(kube::path({"api", "v1", "namespaces", space.name}), space.uid));
    log::info("clusters", "{}: namespace {} is taken away", id_, space.name);
    spaces_.remove(*own);
  }
  if (!found.empty() && swept_spaces_ == found.back().name) swept_spaces_.clear();
  return {};
}

/// PersistentVolumes that the cluster shows and that are gone.
Result<SyncedCluster::Next> SyncedCluster::sweep() {
  ZOO_TRY_VOID(sweep_volumes(room_, swept_volumes_));
  return Next{swept_volumes_.empty() ? k_volume_look : milliseconds(0)};
}

/// Everything that upstream has of the cluster is compared with what is known.
Result<SyncedCluster::Next> SyncedCluster::patrol() {
  if (!listed_) return Next{k_not_known};
  const auto begun = FairQueue::Clock::now();
  ZOO_TRY_VOID(room_.known(Store::cluster));
  const auto lease = upstream_.take();
  ZOO_TRY_VOID(known_store(*lease, Store::upstream));
  constexpr std::size_t k_page = 500;
  std::unordered_set<std::string> seen;
  const auto own = mapping();
  std::size_t drift = 0;
  ZOO_TRY_VOID(tenants::range_objects(
      *lease, k_pods, own.prefix(), k_page, 0, false, {}, [&](const json& item) {
        const auto space = cluster_namespace(id_, kube::text_at(item, "/metadata/namespace"));
        if (!space) return;
        const auto key = *space + "/" + kube::text_at(item, "/metadata/name");
        seen.insert(key);
        compare(key, item);
      }));
  table_.keep_there(seen);
  known_ = true;
  for (const auto& key : table_.undone()) {
    ++drift;
    queue_.add(id_, "p/" + key, Lane::then);
  }
  look_for_stray_pods();
  ZOO_TRY_VOID(sweep_namespaces(*lease));
  ZOO_TRY_VOID(tokens_.patrol());
  queue_.add(id_, "k/", Lane::first);
  log::debug("clusters", "{}: patrol: {} pods upstream, {} to be looked at, in {} ms", id_,
             seen.size(), drift,
             std::chrono::duration_cast<milliseconds>(FairQueue::Clock::now() - begun).count());
  set_trouble(upstream_trouble_, {});
  return Next{reconcile::jittered(parts_.patrol)};
}

SyncedCluster::Next SyncedCluster::work(const FairQueue::Work& work) {
  const auto kind = work.key.substr(0, 2);
  const auto rest = work.key.substr(2);
  // While a store is not what it was nothing is done; what its API server asks is answered.
  if (strange_ != 0 && kind != "a/" && kind != "h/" && kind != "q/")
    return Next{reconcile::jittered(k_strange)};
  const auto looked = kind == "p/"   ? work_pod(rest, work.attempts)
                      : kind == "n/" ? work_node(rest)
                      : kind == "r/" ? remove_node(rest)
                      : kind == "f/" ? Result<Next>(fill_room())
                      : kind == "l/" ? renew_leases()
                      : kind == "a/" ? patrol()
                      : kind == "d/" ? learn_dns()
                      : kind == "m/" ? mirror_.work(rest, work.attempts)
                      : kind == "x/" ? mirror_.patrol(rest)
                      : kind == "y/" ? Result<Next>(mirror_.fill_room(rest))
                      : kind == "s/" ? labels_.work(rest, work.attempts)
                      : kind == "t/" ? tokens_.work(rest)
                      : kind == "h/" ? Result<Next>(judge_.work(rest))
                      : kind == "q/" ? Result<Next>(usage_.work())
                      : kind == "e/" ? events_.work()
                      : kind == "c/" ? classes_.work(parts_.names())
                      : kind == "v/" ? sweep()
                      : kind == "u/" ? keep_usage_api(room_).map([] { return Next{k_usage_look}; })
                      : kind == "w/"
                          ? keep_service_hook(room_).map([] { return Next{k_hook_look}; })
                      : kind == "k/" ? keep_api().map([] { return Next{}; })
                                     : look_for_old_nodes().map([] { return Next{}; });
  if (looked) return *looked;
  if (looked.error().code() == Code::cancelled) return {};
  const bool long_known = work.attempts > 3;
  log::at(long_known ? LogLevel::debug : LogLevel::info, "clusters", "{}: {}: {}", id_, work.key,
          looked.error().text());
  if (kind == "a/")
    set_trouble(upstream_trouble_,
                {looked.error().code() == Code::internal ? "StoreReplaced" : "NotReached",
                 looked.error().message()});
  const auto pause = milliseconds(100) * (1L << std::min(work.attempts, 9U));
  return {reconcile::jittered(std::min<milliseconds>(pause, milliseconds(60'000))), true};
}

} // namespace zoo::clusters::sync
