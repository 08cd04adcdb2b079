// SPDX-License-Identifier: Apache-2.0
// Flow control from several threads at once: what it admits is counted here a second time, by
// counters that it does not know.
#include "daemon/gateway/flow_control.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace zoo::gateway;
using Verdict = FlowControl::Verdict;

namespace {

constexpr std::uint32_t k_tenants = 3;

zoo::api::Flow tiny() {
  zoo::api::Flow out;
  out.requests = 6;
  out.mutations = 2;
  out.long_running = 2;
  out.buffered = 1'000;
  return out;
}

/// How many hold a place now; none is counted before it has one, nor after it gave it back.
struct Count {
  std::atomic<int> now = 0, most = 0;
  void enter() {
    const int here = ++now;
    for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
    }
  }
  void leave() { --now; }
};

struct World {
  explicit World(FlowControl::Limits limits) : control(limits) {
    for (std::uint32_t i = 0; i < k_tenants; ++i)
      shares[i] = control.share("t" + std::to_string(i));
  }
  FlowControl control;
  std::array<std::shared_ptr<FlowShare>, k_tenants> shares;
  std::array<Count, k_tenants> running, mutations, lasting;
  Count all;
  std::atomic<int> queued = 0, told = 0, told_twice = 0, left = 0;
};

/// What one request knows of itself, also after it left.
struct Story {
  enum class State : std::uint8_t { waiting, admitted, lost, left };
  World& world;
  std::uint32_t tenant;
  Work work;
  std::atomic<State> state = State::waiting;

  void begin() {
    if (work == Work::long_running) return world.lasting[tenant].enter();
    world.running[tenant].enter();
    if (work == Work::mutation) world.mutations[tenant].enter();
    world.all.enter();
  }
  void end() {
    if (work == Work::long_running) return world.lasting[tenant].leave();
    world.running[tenant].leave();
    if (work == Work::mutation) world.mutations[tenant].leave();
    world.all.leave();
  }
};

/// A loop's requests: it opens, fills and ends them at random, and hears on any thread what became
/// of those that wait.
class Worker {
public:
  Worker(World& world, unsigned seed) : world_(world), random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      hear(false);
      if (open_.size() < 8 && random_() % 2 == 0) {
        open();
      } else if (!open_.empty()) {
        touch(random_() % open_.size());
      }
    }
    // Whoever waits is told in the end.
    while (!open_.empty()) {
      for (std::size_t i = open_.size(); i-- > 0;) {
        if (open_[i]->story->state != Story::State::waiting) end(i, 0);
      }
      if (!open_.empty()) hear(true);
    }
    kept_.clear();
  }

private:
  struct Open {
    std::shared_ptr<Story> story;
    FlowControl::Place place;
    bool receiving;
  };

  FlowControl::Teller teller(const std::shared_ptr<Story>& story) {
    return [this, story] {
      ++world_.queued;
      return [this, story, calls = std::make_shared<std::atomic<int>>(0)](bool admitted) {
        if (++*calls > 1) ++world_.told_twice;
        auto was = Story::State::waiting;
        const auto now = admitted ? Story::State::admitted : Story::State::lost;
        if (!story->state.compare_exchange_strong(was, now)) return; // it was going
        ++world_.told;
        if (admitted) story->begin();
        const std::scoped_lock lock(mutex_);
        heard_ = true;
        news_.notify_one();
      };
    };
  }

  void hear(bool wait) {
    std::unique_lock lock(mutex_);
    if (wait) news_.wait(lock, [this] { return heard_; });
    heard_ = false;
  }

  void open() {
    const auto tenant = static_cast<std::uint32_t>(random_() % k_tenants);
    const auto work = static_cast<Work>(random_() % 3);
    const bool receiving = work != Work::long_running && random_() % 3 == 0;
    auto story = std::make_shared<Story>(world_, tenant, work);
    auto entered = world_.control.enter(*world_.shares[tenant], tiny(), user(), work, receiving,
                                        teller(story));
    if (!entered.place) return;
    if (entered.verdict == Verdict::admitted) {
      story->state = Story::State::admitted;
      if (!receiving) story->begin();
    }
    open_.push_back(
        std::make_unique<Open>(Open{std::move(story), *std::move(entered.place), receiving}));
  }

  std::string user() { return "u" + std::to_string(random_() % 3); }

  void touch(std::size_t at) {
    auto& [story, place, receiving] = *open_[at];
    switch (random_() % 6) {
    case 0:
      static_cast<void>(place.buffer(random_() % 400));
      break;
    case 1:
      static_cast<void>(place.unread(random_() % 400));
      break;
    case 2:
      static_cast<void>(place.hold(random_() % 400));
      break;
    case 3:
      if (receiving) return receive(at);
      break;
    default:
      end(at, random_() % 4 == 0 ? random_() % 400 : 0);
    }
  }

  void receive(std::size_t at) {
    auto& [story, place, receiving] = *open_[at];
    receiving = false;
    story->state = Story::State::waiting;
    const auto verdict = place.received(user(), teller(story));
    if (verdict == Verdict::full_queue) {
      drop(at);
    } else if (verdict == Verdict::admitted) {
      story->state = Story::State::admitted;
      story->begin();
    }
  }

  void end(std::size_t at, std::uint64_t kept) {
    auto& [story, place, receiving] = *open_[at];
    const auto was = story->state.exchange(Story::State::left);
    if (was == Story::State::admitted && !receiving) story->end();
    if (was == Story::State::waiting) ++world_.left;
    place.answered(kept);
    auto over = std::move(open_[at]);
    drop(at);
    if (kept == 0) return;
    kept_.push_back(std::move(over)); // its client has not read it yet
    if (kept_.size() > 3) kept_.erase(kept_.begin());
  }

  void drop(std::size_t at) { open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at)); }

  World& world_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Open>> open_, kept_;
  std::mutex mutex_;
  std::condition_variable news_;
  bool heard_ = false;
};

void check_nothing_left(World& world) {
  for (const auto& load : {world.control.total(), world.shares[0]->load(), world.shares[1]->load(),
                           world.shares[2]->load()}) {
    CHECK(load.in_flight == 0);
    CHECK(load.queued == 0);
    CHECK(load.receiving == 0);
    CHECK(load.mutations == 0);
    CHECK(load.long_running == 0);
    CHECK(load.buffered == 0);
    CHECK(load.unread == 0);
  }
  CHECK(world.all.now == 0);
  CHECK(world.queued > 0);
  CHECK(world.queued == world.told + world.left);
  CHECK(world.told_twice == 0);
  const auto flow = tiny();
  for (std::uint32_t i = 0; i < k_tenants; ++i) {
    CHECK(world.running[i].most <= static_cast<int>(flow.requests));
    CHECK(world.mutations[i].most <= static_cast<int>(flow.mutations));
    CHECK(world.lasting[i].most <= static_cast<int>(flow.long_running));
  }
  // Nobody is left waiting, and the short way is open again: a place more, without a word.
  auto entered = world.control.enter(*world.shares[0], flow, "u", Work::read, false, nullptr);
  CHECK(entered.verdict == Verdict::admitted);
}

void work(World& world, int steps, const std::function<void(int)>& meanwhile = nullptr) {
  std::deque<Worker> workers;
  for (unsigned i = 0; i < 4; ++i)
    workers.emplace_back(world, i);
  std::vector<std::thread> threads;
  std::latch all_there(4);
  for (auto& worker : workers) {
    threads.emplace_back([&] {
      all_there.arrive_and_wait();
      worker.run(steps);
    });
  }
  if (meanwhile)
    threads.emplace_back([&] {
      for (int i = 0; i < steps; ++i)
        meanwhile(i);
    });
  for (auto& thread : threads)
    thread.join();
}

} // namespace

TEST_CASE("no limit is passed by several threads, and nobody is forgotten") {
  World world({2, 3});
  work(world, 100'000);
  check_nothing_left(world);
  // Above the total each place is the first one of its tenant.
  CHECK(world.all.most <= 2 + 2);
}

TEST_CASE("nobody is forgotten while the limits change") {
  World world({1, 3});
  work(world, 100'000, [&](int i) {
    world.control.set_limits({1 + static_cast<std::uint32_t>(i) % 4, 3});
    const auto load = world.control.total(); // never below nothing
    if (load.in_flight > 100 || load.queued > 100 || load.receiving > 100) ++world.told_twice;
  });
  check_nothing_left(world);
}

/// Takes places of one tenant from several threads, as fast as they can; who finds none goes.
void hammer(World& world, const zoo::api::Flow& flow) {
  std::vector<std::thread> threads;
  std::latch all_there(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, work = i % 2 == 0 ? Work::mutation : Work::read] {
      all_there.arrive_and_wait();
      for (int turn = 0; turn < 200'000; ++turn) {
        const auto entered = world.control.enter(*world.shares[0], flow, "u", work, false,
                                                 [] { return [](bool) {}; });
        if (entered.verdict != Verdict::admitted) continue;
        Story story{world, 0, work};
        story.begin();
        story.end();
      }
    });
  }
  for (auto& thread : threads)
    thread.join();
  const auto load = world.control.total();
  CHECK(load.in_flight + load.mutations + load.queued + load.receiving == 0);
}

TEST_CASE("a tenant's limits hold when all threads are at them") {
  World world({100, 3});
  auto flow = tiny();
  flow.requests = 2;
  flow.mutations = 1;
  hammer(world, flow);
  CHECK(world.running[0].most <= 2);
  CHECK(world.mutations[0].most <= 1);
}

TEST_CASE("the places of all hold when all threads are at them") {
  World world({1, 3});
  auto flow = tiny();
  flow.requests = 100;
  hammer(world, flow);
  CHECK(world.all.most == 1);
}
