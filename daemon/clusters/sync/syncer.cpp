// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/syncer.hpp"

#include "common/base/log.hpp"
#include "daemon/clusters/tenant_room.hpp"
#include "daemon/reconcile/runner.hpp"

#include <pthread.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace zoo::clusters::sync {
namespace {

/// Without a watch of upstream's pods: one that has ended is opened again in less than that.
constexpr std::chrono::seconds k_unheard{5};

/// That a pod was given a node, the cluster's scheduler has said itself.
constexpr const char* k_events = "involvedObject.kind=Pod,reason!=Scheduled";
/// Upstream sends no bookmarks of events: where none happens their watch is silent.
constexpr std::chrono::minutes k_silent_events{10};

} // namespace

Syncer::Syncer(upstream::Upstream& upstream, net::Loop& loop, SyncerParts parts, unsigned workers)
    : upstream_(upstream), loop_(loop), parts_([&] {
        parts.reserved = [this] { return reserved_.load(); };
        return std::move(parts);
      }()),
      queue_(workers), workers_(workers) {}

void Syncer::set_reserved(std::vector<std::string> nodes) {
  reserved_ = std::make_shared<const std::vector<std::string>>(std::move(nodes));
}

Syncer::~Syncer() { stop(); }

void Syncer::start() {
  for (unsigned number = 1; number <= workers_; ++number)
    threads_.emplace_back([this, number](const std::stop_token& stop) {
      ::pthread_setname_np(::pthread_self(), fmt::format("sync-{}", number).c_str());
      run(stop);
    });
  loop_.post([this] {
    upstream::ChangeFollower::Hears pods;
    pods.whole = true;
    pods.changed = [this](translate::EventType type, const translate::ObjectKey& key,
                          std::string_view object) {
      hear_pod(type, key.name_space, key.name, object);
    };
    pods.began = [this] { reread_all(); };
    absence_ =
        std::make_unique<Absence>(loop_, k_unheard, [this](bool away) { upstream_away(away); });
    pods.hearing = [this](bool hears) { absence_->heard(hears); };
    auto& caller = upstream_.caller(loop_);
    pods_ = std::make_unique<upstream::ChangeFollower>(upstream_, loop_, caller, "/api/v1/pods",
                                                       upstream::Selection::by_labels(k_id_label),
                                                       std::move(pods));
    pods_->start();
    upstream::ChangeFollower::Hears nodes;
    nodes.changed = [this](translate::EventType, const translate::ObjectKey& key,
                           std::string_view) {
      const std::scoped_lock lock(mutex_);
      for (const auto& [id, cluster] : clusters_)
        cluster->hear_node(key.name);
    };
    nodes.began = [this] {
      const std::scoped_lock lock(mutex_);
      for (const auto& [id, cluster] : clusters_)
        cluster->look_at_nodes();
    };
    nodes_ = std::make_unique<upstream::ChangeFollower>(upstream_, loop_, caller, "/api/v1/nodes",
                                                        "", std::move(nodes));
    nodes_->start();
    follow_objects();
  });
}

/// The metadata of what zood has made for clusters: it is their mark, and tells that they changed;
/// and the Events of all pods, since these have no mark.
void Syncer::follow_objects() {
  for (std::size_t kind = 0; kind < mirror_kinds().size(); ++kind) {
    upstream::ChangeFollower::Hears hears;
    hears.changed = [this, kind](translate::EventType type, const translate::ObjectKey& key,
                                 std::string_view object) { hear_object(kind, type, key, object); };
    hears.began = [this, kind] {
      const std::scoped_lock lock(mutex_);
      for (const auto& [id, cluster] : clusters_)
        cluster->reread(kind);
    };
    objects_.push_back(std::make_unique<upstream::ChangeFollower>(
        upstream_, loop_, upstream_.caller(loop_), mirror_kinds()[kind].collection(),
        upstream::Selection::by_labels(k_id_label), std::move(hears)));
    objects_.back()->start();
  }
  upstream::ChangeFollower::Hears events;
  events.whole = true;
  events.changed = [this](translate::EventType type, const translate::ObjectKey& key,
                          std::string_view object) {
    if (type == translate::EventType::deleted || key.name_space.size() <= k_id_size) return;
    const auto cluster = find(key.name_space.substr(0, k_id_size));
    if (cluster != nullptr && cluster_namespace(cluster->id(), key.name_space))
      cluster->hear_event(object);
  };
  events.began = [] {};
  objects_.push_back(std::make_unique<upstream::ChangeFollower>(
      upstream_, loop_, upstream_.caller(loop_), "/api/v1/events", k_events, std::move(events),
      k_silent_events));
  objects_.back()->start();
}

void Syncer::hear_object(std::size_t kind, translate::EventType type,
                         const translate::ObjectKey& key, std::string_view object) {
  const std::string_view space = key.name_space;
  if (space.size() <= k_id_size) return;
  const auto id = space.substr(0, k_id_size);
  const auto cluster = find(id);
  const auto own = cluster_namespace(id, space);
  if (cluster == nullptr || !own) return;
  cluster->hear_object(kind, *own, key.name, object, type == translate::EventType::deleted);
}

bool Syncer::review(const std::string& id, std::string body, ServiceJudge::Done done) {
  const auto cluster = find(id);
  return cluster != nullptr && cluster->judge().ask(std::move(body), std::move(done));
}

std::map<std::string, std::map<std::string, std::size_t>> Syncer::objects() const {
  std::map<std::string, std::map<std::string, std::size_t>> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, cluster] : clusters_)
    out.emplace(id, cluster->objects());
  return out;
}

void Syncer::stop() {
  for (auto& thread : threads_)
    thread.request_stop();
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [id, cluster] : clusters_)
      cluster->stop_calls();
  }
  threads_.clear();
  net::run_and_wait(loop_, [this] {
    pods_.reset();
    nodes_.reset();
    objects_.clear();
    absence_.reset();
  });
  const std::scoped_lock lock(mutex_, left_mutex_);
  clusters_.clear();
  left_.clear();
}

std::shared_ptr<SyncedCluster> Syncer::find(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = clusters_.find(std::string(id));
  return found == clusters_.end() ? nullptr : found->second;
}

void Syncer::follow(SyncWish wish) {
  if (const auto now = find(wish.id); now != nullptr && now->options() != wish.options)
    leave(wish.id);
  std::shared_ptr<SyncedCluster> there;
  {
    const std::scoped_lock lock(mutex_);
    auto& slot = clusters_[wish.id];
    if (slot == nullptr) {
      slot = std::make_shared<SyncedCluster>(parts_, queue_, std::move(wish));
      slot->set_upstream_away(away_);
      return;
    }
    there = slot;
  }
  there->set_wish(std::move(wish));
}

void Syncer::leave(const std::string& id) {
  std::shared_ptr<SyncedCluster> gone;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = clusters_.find(id);
    if (found == clusters_.end()) return;
    gone = std::move(found->second);
    clusters_.erase(found);
  }
  gone->stop_calls();
  queue_.forget(id);
  // Its end waits for its threads. A loop that has it in hand at this moment must not do that: it
  // goes with the next one that is left, then.
  std::vector<std::shared_ptr<SyncedCluster>> over;
  const std::scoped_lock lock(left_mutex_);
  left_.push_back(std::move(gone));
  const auto begin = std::partition(left_.begin(), left_.end(),
                                    [](const auto& each) { return each.use_count() != 1; });
  over.assign(std::make_move_iterator(begin), std::make_move_iterator(left_.end()));
  left_.erase(begin, left_.end());
}

std::optional<SyncState> Syncer::state(const std::string& id) const {
  const auto cluster = find(id);
  if (cluster == nullptr) return std::nullopt;
  return cluster->state();
}

std::map<std::string, Syncer::Count> Syncer::counts() const {
  std::map<std::string, Count> out;
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, cluster] : clusters_)
    out[id] = {cluster->pods(), cluster->refused(), queue_.size(id)};
  return out;
}

bool Syncer::usage(const std::string& id, UsageRequest request, UsageAnswers::Done done) {
  const auto cluster = find(id);
  return cluster != nullptr && cluster->usage().ask(std::move(request), std::move(done));
}

bool Syncer::has_address(const std::string& id, const std::string& address) const {
  const auto cluster = find(id);
  return cluster != nullptr && cluster->has_address(address);
}

void Syncer::hear_pod(translate::EventType type, std::string_view name_space, std::string_view name,
                      std::string_view object) {
  if (name_space.size() <= k_id_size) return;
  const auto id = name_space.substr(0, k_id_size);
  const auto cluster = find(id);
  if (cluster == nullptr) return;
  const auto space = cluster_namespace(id, name_space);
  if (!space) return;
  cluster->hear_pod(fmt::format("{}/{}", *space, name), object,
                    type == translate::EventType::deleted);
}

void Syncer::reread_all() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, cluster] : clusters_)
    cluster->reread();
}

void Syncer::upstream_away(bool away) {
  if (away) log::warning("clusters", "the upstream is not heard: virtual clusters wait for it");
  std::vector<std::shared_ptr<SyncedCluster>> all;
  {
    const std::scoped_lock lock(mutex_);
    away_ = away;
    for (const auto& [id, cluster] : clusters_)
      all.push_back(cluster);
  }
  for (const auto& cluster : all)
    cluster->set_upstream_away(away);
}

void Syncer::run(const std::stop_token& stop) {
  while (const auto work = queue_.take(stop)) {
    SyncedCluster::Next next;
    try {
      if (const auto cluster = find(work->cluster)) next = cluster->work(*work);
    } catch (const std::exception& error) { // an object of a form that nobody expected
      log::warning("clusters", "{}: {}: {}", work->cluster, work->key, error.what());
      next.after = reconcile::jittered(std::chrono::milliseconds(100) *
                                       (1L << std::min<unsigned>(work->attempts, 9)));
      next.failed = true;
    }
    queue_.done(*work, next.after, next.failed);
  }
}

} // namespace zoo::clusters::sync
