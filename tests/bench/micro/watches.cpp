// SPDX-License-Identifier: Apache-2.0
// What a change upstream costs where one watch serves many: it is read once, told apart by the
// first bytes of its key, and handed to whoever follows that tenant (daemon/upstream, the shared
// watches).
#include "daemon/upstream/shared_watches.hpp"
#include "tests/bench/micro/allocations.hpp"
#include "tests/bench/micro/samples.hpp"
#include "tests/unit/upstream/watch_world.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>

namespace {

using namespace zoo;

constexpr std::size_t k_changes = 1'000;

/// A client that takes everything at once.
class Follower final : private upstream::WatchHandler {
public:
  Follower(test::WatchWorld& world, upstream::WatchRequest request) : world_(world) {
    world_.on(0, [&] {
      watch_ = upstream::subscribe(world_.upstream(), world_.loop(0), std::move(request), *this);
    });
  }
  ~Follower() override {
    world_.on(0, [&] { watch_.reset(); });
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  static inline std::atomic<std::size_t> heard = 0;

private:
  void on_watch_begin() override {}
  void on_watch_event(std::string_view) override { ++heard; }
  void on_watch_end(const upstream::WatchEnd&) override { std::abort(); }

  test::WatchWorld& world_;
  std::unique_ptr<upstream::WatchSubscription> watch_;
};

std::string tenant(std::size_t number) { return fmt::format("t{:05}", number); }

std::string changes(const std::string& name_space, std::uint64_t& version) {
  const auto object = bench::pod(7, name_space);
  constexpr std::string_view k_version = "\"resourceVersion\":\"";
  const auto at = object.find(k_version) + k_version.size();
  const auto rest = object.substr(object.find('"', at));
  std::string out;
  for (std::size_t i = 0; i < k_changes; ++i)
    out += fmt::format("{{\"type\":\"MODIFIED\",\"object\":{}{}{}}}\n", object.substr(0, at),
                       ++version, rest);
  return out;
}

/// A thousand changes of pods, where so many tenants follow one kind with one watch each; `hears`
/// watches more follow the tenant whose pods they are.
void demultiplex(benchmark::State& state) {
  const auto tenants = static_cast<std::size_t>(state.range(0));
  const auto hears = static_cast<std::size_t>(state.range(1));
  test::WatchWorld world;
  std::uint64_t version = 10;
  std::vector<std::unique_ptr<Follower>> followers;
  for (std::size_t i = 0; i < tenants; ++i)
    followers.push_back(std::make_unique<Follower>(world, test::pods(tenant(i) + "-", version)));
  for (std::size_t i = 0; i < hears; ++i)
    followers.push_back(std::make_unique<Follower>(world, test::pods("zzzzzz-", version)));
  const auto shared = world.next_watch();
  world.answer(shared, 200);
  world.settle();
  Follower::heard = 0;
  std::size_t bytes = 0, allocations = 0;
  for ([[maybe_unused]] auto turn : state) {
    state.PauseTiming();
    const auto text = changes("zzzzzz-default", version);
    bytes += text.size();
    state.ResumeTiming();
    const auto before = bench::allocations();
    world.say(shared, text);
    world.settle();
    allocations += bench::allocations() - before;
  }
  const auto said = k_changes * state.iterations();
  if (Follower::heard != said * hears) state.SkipWithError("not everybody heard everything");
  state.counters["allocations"] =
      said == 0 ? 0 : static_cast<double>(allocations) / static_cast<double>(said); // a change
  state.SetItemsProcessed(static_cast<std::int64_t>(said));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}
BENCHMARK(demultiplex)
    ->ArgNames({"tenants", "hear"})
    ->Args({1, 0})
    ->Args({100, 0})
    ->Args({10'000, 0})
    ->Args({100, 1})
    ->Args({100, 50})
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

} // namespace
