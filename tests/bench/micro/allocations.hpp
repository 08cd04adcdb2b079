// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>

namespace zoo::bench {

/// Calls of operator new so far, of all threads.
std::size_t allocations();

/// At the end of its scope: bytes a second, and allocations an iteration.
class Meter {
public:
  Meter(benchmark::State& state, std::size_t bytes)
      : state_(state), bytes_(bytes), before_(allocations()) {}
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;
  ~Meter() {
    const auto made = static_cast<double>(allocations() - before_);
    const auto turns = static_cast<double>(state_.iterations());
    state_.SetBytesProcessed(static_cast<std::int64_t>(bytes_ * state_.iterations()));
    state_.counters["allocations"] = turns == 0 ? 0 : made / turns;
  }

private:
  benchmark::State& state_;
  std::size_t bytes_;
  std::size_t before_;
};

} // namespace zoo::bench
