// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::clusters {

/// The addresses of a virtual cluster's Nodes, as its API server has them when they are asked for.
/// On one loop.
class ClusterNodes {
public:
  /// The name of the Node with that address; "": none has it. An error: the API server of the
  /// cluster does not say.
  using Done = std::function<void(Result<std::string>)>;

  /// A read of all Nodes that took the loop a time T is followed by no other read for k_rest times
  /// T. So requests for Nodes that do not exist take a twentieth of the loop at most.
  static constexpr int k_rest = 20;

  /// `api`: of the cluster, as zood; it outlives this.
  ClusterNodes(net::Loop& loop, upstream::Caller& api, int rest = k_rest)
      : api_(api), rest_(rest), pause_(loop) {}

  /// `address`: an IP address or a name, in any case. `done` comes once, perhaps from inside this
  /// call, unless this is destroyed before.
  void find(const std::string& address, Done done);

  static constexpr std::chrono::seconds k_kept{10}; ///< what was read; what is new is read at once
  static constexpr std::size_t k_most = 20'000;     ///< addresses
  static constexpr std::size_t k_page_bytes = 2u << 20;
  static constexpr std::size_t k_most_pages = 100; ///< of one read, however little is in them

private:
  using Clock = std::chrono::steady_clock;
  using Names = std::map<std::string, std::string, std::less<>>; ///< Nodes, by address
  struct Waiting {
    std::string address;
    Done done;
  };
  void begin();
  void read(const std::string& next);
  void page(Result<upstream::Answer> answer);
  void finish(const Result<void>& read);

  upstream::Caller& api_;
  const int rest_;
  Names names_, next_names_;
  Clock::time_point read_at_{}, not_before_{};
  Clock::duration spent_{}; ///< on the read that is on its way
  std::size_t pages_ = 0;   ///< of it
  bool known_ = false;
  std::vector<Waiting> waiting_; ///< for the read that is on its way
  net::Timer pause_;
  bool busy_ = false; ///< something is read, or will be
  std::unique_ptr<upstream::BufferedCall> call_;
};

} // namespace zoo::clusters
