// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/micro/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::size_t> g_made = 0;
}

namespace zoo::bench {
std::size_t allocations() { return g_made; }
} // namespace zoo::bench

// The program's own operator new, which counts (C++20 [new.delete.single]).
void* operator new(std::size_t size) {
  g_made.fetch_add(1, std::memory_order_relaxed);
  if (void* made = std::malloc(size == 0 ? 1 : size)) return made;
  throw std::bad_alloc();
}
void operator delete(void* gone) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t) noexcept { std::free(gone); }
