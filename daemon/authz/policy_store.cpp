// SPDX-License-Identifier: Apache-2.0
#include "daemon/authz/policy_store.hpp"

#include "common/base/published.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/upstream.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace zoo::authz {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t k_shards = 64;
constexpr std::size_t k_kept_slots = 256; ///< a shard, before those of idle tenants are given up

} // namespace

/// One tenant's place. What is atomic is for everybody, the rest for its home loop.
struct PolicyStore::Slot : std::enable_shared_from_this<PolicyStore::Slot> {
  struct Waiter {
    net::Loop* loop;
    std::function<void(Result<PolicyPtr>)> done;
  };

  Slot(upstream::Upstream& given, net::Loop& loop, PolicyLimits bounds,
       std::shared_ptr<std::atomic<std::uint64_t>> counted)
      : upstream(given), home(loop), limits(bounds), loads(std::move(counted)), idle(loop) {}

  void touch() { used = Clock::now().time_since_epoch().count(); }

  // On the home loop.
  void ask(const translate::Mapping& mapping, Waiter waiter) {
    if (auto known = current.load()) return answer(waiter, std::move(known));
    if (source && failure) return answer(waiter, fail(*failure));
    waiting.push_back(std::move(waiter));
    if (source) return;
    source = std::make_unique<PolicySource>(
        upstream, upstream.caller(home), home, mapping, limits,
        [this](Result<PolicyPtr> policy) { published(std::move(policy)); });
    names = &source->mapping().shared();
    ++*loads;
    source->start();
    watch_idle();
  }

  void remap(const translate::Mapping& mapping) {
    if (!source) return;
    source->remap(mapping);
    names = &source->mapping().shared();
  }

  void published(Result<PolicyPtr> policy) {
    failure = policy ? std::nullopt : std::optional<Error>(policy.error());
    current.store(policy ? *policy : nullptr);
    for (const auto& each : std::exchange(waiting, {}))
      answer(each, policy);
  }

  static void answer(const Waiter& waiter, Result<PolicyPtr> policy) {
    waiter.loop->post([done = waiter.done, policy = std::move(policy)] { done(policy); });
  }

  void watch_idle() {
    idle.start(limits.idle, [self = weak_from_this(), this] {
      const auto alive = self.lock();
      if (!alive) return;
      const auto last = Clock::time_point(Clock::duration(used.load()));
      if (Clock::now() - last < limits.idle || !waiting.empty()) return watch_idle();
      current.store(nullptr);
      names.store(nullptr);
      failure.reset();
      source.reset(); // no callback of it is running: this is the timer's
    });
  }

  upstream::Upstream& upstream;
  net::Loop& home;
  const PolicyLimits limits;
  const std::shared_ptr<std::atomic<std::uint64_t>> loads; ///< of all slots
  Published<const Policy> current;
  std::atomic<const translate::SharedNames*> names{nullptr};
  std::atomic<Clock::rep> used{0};

  std::vector<Waiter> waiting;
  std::optional<Error> failure;
  net::Timer idle;
  std::unique_ptr<PolicySource> source;
};

struct PolicyStore::Impl {
  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<Slot>> slots;
  };
  upstream::Upstream& upstream;
  std::vector<net::Loop*> loops;
  PolicyLimits limits;
  std::array<Shard, k_shards> shards{};
  std::shared_ptr<std::atomic<std::uint64_t>> loads =
      std::make_shared<std::atomic<std::uint64_t>>(0);

  /// Gives up what nobody uses. A slot dies on its home loop, where its timer lives.
  static void sweep(Shard& shard) {
    if (shard.slots.size() < k_kept_slots) return;
    for (auto at = shard.slots.begin(); at != shard.slots.end();) {
      if (at->second.use_count() > 1 || at->second->names.load() != nullptr) {
        ++at;
        continue;
      }
      auto& home = at->second->home;
      home.post([slot = std::move(at->second)] {});
      at = shard.slots.erase(at);
    }
  }

  Shard& shard(const std::string& id) { return shards[std::hash<std::string>{}(id) % k_shards]; }
};

PolicyStore::PolicyStore(upstream::Upstream& upstream, std::vector<net::Loop*> loops,
                         PolicyLimits limits)
    : impl_(new Impl{upstream, std::move(loops), limits}) {}

std::uint64_t PolicyStore::loads() const { return impl_->loads->load(); }

PolicyStore::~PolicyStore() {
  // A task that never ran may keep a slot beyond the upstream and the slot's loop.
  for (auto& shard : impl_->shards) {
    for (auto& [id, slot] : shard.slots) {
      slot->waiting.clear();
      slot->source.reset();
      slot->idle.cancel();
    }
  }
}

std::shared_ptr<PolicyStore::Slot> PolicyStore::slot_of(const std::string& id) {
  auto& shard = impl_->shard(id);
  const std::scoped_lock lock(shard.mutex);
  if (!shard.slots.contains(id)) Impl::sweep(shard);
  auto& place = shard.slots[id];
  if (!place) {
    const auto home = std::hash<std::string>{}(id) % impl_->loops.size();
    place =
        std::make_shared<Slot>(impl_->upstream, *impl_->loops[home], impl_->limits, impl_->loads);
  }
  return place;
}

/// Kept, not looked up again: whoever gives slots up (sweep()) counts who has them.
const std::shared_ptr<PolicyStore::Slot>& TenantPolicy::slot() {
  if (!slot_) slot_ = store_.slot_of(mapping_.id());
  return slot_;
}

PolicyPtr TenantPolicy::latest() { return slot()->current.load(); }

PolicyPtr TenantPolicy::known() {
  slot()->touch();
  auto known = slot_->current.load();
  if (known && slot_->names.load() != &mapping_.shared())
    slot_->home.post([slot = slot_, mapping = mapping_] { slot->remap(mapping); });
  return known;
}

void TenantPolicy::ask(std::function<void(Result<PolicyPtr>)> done) {
  if (auto current = known()) return done(std::move(current));
  slot_->home.post(
      [slot = slot_, mapping = mapping_, loop = &loop_, done = std::move(done)]() mutable {
        slot->ask(mapping, {loop, std::move(done)});
      });
}

} // namespace zoo::authz
