// SPDX-License-Identifier: Apache-2.0
// What it costs to open a list that came compressed, and to close it again: the least that whoever
// changes something in it has to spend beside carrying it.
#include "common/base/gzip.hpp"

#include "tests/bench/micro/allocations.hpp"
#include "tests/bench/micro/samples.hpp"

#include <algorithm>

namespace {

using namespace zoo;

void gzip_open(benchmark::State& state) {
  const auto list = bench::pod_list(500, "abc123-default");
  const auto packed = gzip::whole(list);
  const bench::Meter meter(state, list.size());
  for ([[maybe_unused]] auto turn : state) {
    gzip::Opener opener;
    for (std::string_view left = packed; !opener.complete();) {
      const auto piece = opener.next(left);
      if (!piece || (piece->empty() && !opener.complete()))
        return state.SkipWithError("it does not open");
      benchmark::DoNotOptimize(piece->data());
    }
  }
}
BENCHMARK(gzip_open);

void gzip_close(benchmark::State& state) {
  const auto list = bench::pod_list(500, "abc123-default");
  constexpr std::size_t k_piece = 16 * 1024;
  const bench::Meter meter(state, list.size());
  std::string out;
  for ([[maybe_unused]] auto turn : state) {
    gzip::Stream stream;
    out.clear();
    for (std::string_view left = list; !left.empty();
         left.remove_prefix(std::min(left.size(), k_piece)))
      stream.add(left.substr(0, k_piece), out);
    stream.end(out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(gzip_close);

} // namespace
