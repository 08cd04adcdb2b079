// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/egress.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace zoo::clusters {

/// Bytes of EgressRoom::inside_bytes that one question, or the answer to it, holds; they are given
/// back when this is destroyed, on any thread.
class HeldBytes {
public:
  explicit HeldBytes(std::shared_ptr<std::atomic<std::size_t>> all) : all_(std::move(all)) {}
  HeldBytes(const HeldBytes&) = delete;
  ~HeldBytes() { *all_ -= mine_; }
  /// False: there is no room, and nothing is held beside what was. On the cluster's loop.
  bool add(std::size_t bytes) {
    if (*all_ + bytes > EgressRoom::k_most_inside) return false;
    *all_ += bytes;
    mine_ += bytes;
    return true;
  }

private:
  const std::shared_ptr<std::atomic<std::size_t>> all_;
  std::size_t mine_ = 0;
};

} // namespace zoo::clusters
