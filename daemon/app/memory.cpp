// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace zoo::app {

std::optional<ResidentMemory> resident_memory() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0, shared = 0; // pages
  if (!(statm >> size >> resident >> shared)) return std::nullopt;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return ResidentMemory{resident * page, (resident - std::min(resident, shared)) * page};
}

void set_up_malloc(std::size_t loops) {
  constexpr int k_own_pages = 8 << 20; // bytes of a block: limits.object's
  constexpr int k_kept = 16 << 20;     // free at an arena's end
  ::mallopt(M_ARENA_MAX, static_cast<int>(loops + 2));
  ::mallopt(M_MMAP_THRESHOLD, k_own_pages);
  ::mallopt(M_TRIM_THRESHOLD, k_kept);
}

void FreedMemory::give_back() {
  const auto now = resident_memory().value_or(ResidentMemory{}).own;
  const auto free = ::mallinfo2().fordblks; // chunks that hold nothing, resident or not
  if (now < resident_ + k_slack && free < free_ + k_slack) {
    resident_ = std::min(resident_, now);
    free_ = std::min(free_, free);
    return;
  }
  if (free >= k_slack) ::malloc_trim(0);
  resident_ = resident_memory().value_or(ResidentMemory{}).own;
  free_ = ::mallinfo2().fordblks;
}

} // namespace zoo::app
