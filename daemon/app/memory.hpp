// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

/// What glibc's malloc keeps of memory that was freed (docs/decisions/117-memory-given-back.md).
namespace zoo::app {

struct ResidentMemory {
  std::size_t all = 0; ///< bytes
  std::size_t own = 0; ///< of it, what is of no file
};
/// As proc(5) says, /proc/self/statm; nullopt where there is none.
std::optional<ResidentMemory> resident_memory();

/// At most two arenas more than event loops, for all threads, instead of eight a core; and what a
/// list of some megabytes has freed is there for the next one until FreedMemory comes, where the
/// kernel would take and clear its pages anew each time. Before the first thread begins.
void set_up_malloc(std::size_t loops);

/// Gives pages that hold nothing back to the system after a burst: a tenant costs what it owns, not
/// what it took to make it. One thread's.
class FreedMemory {
public:
  static constexpr std::chrono::seconds k_interval{10};

  /// Once in k_interval. It costs a read of /proc/self/statm and a look at the free chunks of all
  /// arenas, and where k_slack more is resident or free than the last time a walk over them; an
  /// arena is locked meanwhile.
  void give_back();

private:
  static constexpr std::size_t k_slack = std::size_t{2} << 20;
  std::size_t resident_ = 0; ///< bytes of its own, the least since the last walk
  std::size_t free_ = 0;     ///< bytes of free chunks, the same
};

} // namespace zoo::app
