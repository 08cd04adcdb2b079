// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/net/loop.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <atomic>
#include <chrono>
#include <memory>

namespace zoo::upstream {

/// Tries once whether upstream begins a list at a position of our making, holds the limit and gives
/// a position to go on from (DESIGN 6), on namespaces that every cluster has. Tries again while
/// upstream cannot be asked. On one loop; `works` outlives it.
class RangeProbe {
public:
  RangeProbe(net::Loop& loop, Caller& caller, std::atomic<bool>& works);
  void start(); ///< any thread

private:
  void ask();
  void again();

  net::Loop& loop_;
  Caller& caller_;
  std::atomic<bool>& works_;
  net::Timer timer_;
  std::chrono::milliseconds pause_{100};
  std::unique_ptr<BufferedCall> retired_, call_;
};

/// Is `body` what a list of namespaces with limit 1 from "kube-p" has to be: kube-public, a
/// resourceVersion, and a way to go on? Pure.
bool is_range_page(std::string_view body);

} // namespace zoo::upstream
