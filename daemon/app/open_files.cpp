// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/open_files.hpp"

#include "common/base/log.hpp"

#include <sys/resource.h>

namespace zoo::app {

void raise_open_files(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur < limit.rlim_max) {
    auto raised = limit;
    raised.rlim_cur = raised.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised; // a unit's filter may refuse it
  }
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) return;
  log::warning("app",
               "this process may have {} open files, and limits.connections with those to upstream "
               "may come to {}: beyond it clients wait for a connection; raise LimitNOFILE of the "
               "unit (`ulimit -Hn` in a shell), or lower limits.connections",
               limit.rlim_cur, wanted);
}

} // namespace zoo::app
