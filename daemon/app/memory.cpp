// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/memory.hpp"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace zoo::app {
namespace {

/// Resident and not of a file; 0 where the system does not say.
std::size_t own_resident() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0, shared = 0;
  if (!(statm >> size >> resident >> shared)) return 0;
  return (resident - std::min(resident, shared)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

} // namespace

void use_few_arenas(std::size_t loops) { ::mallopt(M_ARENA_MAX, static_cast<int>(loops + 2)); }

void FreedMemory::give_back() {
  const auto now = own_resident();
  const auto free = ::mallinfo2().fordblks; // chunks that hold nothing, resident or not
  if (now < resident_ + k_slack && free < free_ + k_slack) {
    resident_ = std::min(resident_, now);
    free_ = std::min(free_, free);
    return;
  }
  if (free >= k_slack) ::malloc_trim(0);
  resident_ = own_resident();
  free_ = ::mallinfo2().fordblks;
}

} // namespace zoo::app
