// SPDX-License-Identifier: Apache-2.0
// What a request's place costs where all loops ask one scheduler (daemon/gateway/flow_control.hpp),
// by one thread and by two that do nothing else.
#include "daemon/gateway/flow_control.hpp"
#include "tests/bench/micro/allocations.hpp"

#include <fmt/format.h>

namespace {

using namespace zoo;

void place(benchmark::State& state) {
  static gateway::FlowControl control;
  const auto share = control.share(fmt::format("t{:05}", state.thread_index()));
  const api::Flow terms;
  for ([[maybe_unused]] auto turn : state) {
    auto entered = control.enter(*share, terms, "user", gateway::Work::read, false, nullptr);
    if (!entered.place) return state.SkipWithError("no place");
    entered.place->answered(0);
  }
}
BENCHMARK(place)->Threads(1)->Threads(2)->UseRealTime();

} // namespace
