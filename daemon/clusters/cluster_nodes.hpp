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
  /// cluster does not say, or has more Nodes than are read.
  using Done = std::function<void(Result<std::string>)>;

  /// Which read of the Nodes may give the answer "none". `any`: also one that had begun before the
  /// question was asked. `later`: only one that begins after it, so that no Node is missed that was
  /// there when it was asked.
  enum class Read { any, later };

  /// A read of all Nodes that took the loop a time T is followed by no other read for k_rest times
  /// T. So requests for Nodes that do not exist take a twentieth of the loop at most.
  static constexpr int k_rest = 20;

  /// `api`: of the cluster, as zood; it outlives this.
  ClusterNodes(net::Loop& loop, upstream::Caller& api, int rest = k_rest)
      : api_(api), rest_(rest), pause_(loop) {}

  /// `address`: an IP address or a name, in any case. `done` comes once, perhaps from inside this
  /// call, unless this is destroyed before. Code::unavailable where k_most_waiting questions
  /// wait already; one that its asker has given up still counts.
  void find(const std::string& address, Done done, Read read = Read::any);

  static constexpr std::chrono::seconds k_kept{10}; ///< what was read; what is new is read at once
  static constexpr std::size_t k_most = 20'000;     ///< addresses; others are no Node's
  static constexpr std::size_t k_most_waiting = 1'024;  ///< questions
  static constexpr std::size_t k_page_bytes = 2u << 20; ///< a larger page is asked for in halves
  static constexpr std::size_t k_most_pages = 250;      ///< of one read, however little is in them

private:
  using Clock = std::chrono::steady_clock;
  using Names = std::map<std::string, std::string, std::less<>>; ///< Nodes, by address
  struct Waiting {
    std::string address;
    Done done;
    bool once_more = false; ///< what is read now began before it was asked
  };
  void begin();
  void read(const std::string& next);
  void page(Result<upstream::Answer> answer);
  void finish(const Result<void>& read, bool whole = false);

  upstream::Caller& api_;
  const int rest_;
  Names names_, next_names_;
  Clock::time_point read_at_{}, not_before_{};
  Clock::duration spent_{};            ///< on the read that is on its way
  std::size_t pages_ = 0;              ///< of it
  std::size_t page_size_ = 0;          ///< of it: Nodes a page
  std::string page_at_;                ///< of it: the token of the page that is asked for
  bool begun_ = false;                 ///< its first page was asked for
  bool known_ = false, whole_ = false; ///< `names_` was read; to the last Node
  std::vector<Waiting> waiting_;       ///< for the read that is on its way
  net::Timer pause_;
  bool busy_ = false; ///< something is read, or will be
  std::unique_ptr<upstream::BufferedCall> call_;
};

} // namespace zoo::clusters
