// SPDX-License-Identifier: Apache-2.0
#include "daemon/net/workers.hpp"

#include <fmt/format.h>
#include <pthread.h>

namespace zoo::net {

Workers::Workers(std::size_t count, const std::string& name) {
  for (std::size_t i = 0; i < count; ++i)
    loops_.push_back(std::make_unique<Loop>());
  for (std::size_t i = 0; i < count; ++i) {
    threads_.emplace_back([loop = loops_[i].get()] { loop->run(); });
    // The kernel keeps 15 characters.
    pthread_setname_np(threads_.back().native_handle(),
                       fmt::format("{}-{}", name, i).substr(0, 15).c_str());
  }
}

Workers::~Workers() { stop(); }

std::vector<Loop*> Workers::loops() const {
  std::vector<Loop*> loops;
  for (const auto& loop : loops_)
    loops.push_back(loop.get());
  return loops;
}

void Workers::stop() {
  for (auto& loop : loops_)
    loop->stop();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

} // namespace zoo::net
