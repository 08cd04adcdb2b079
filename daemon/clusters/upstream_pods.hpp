// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/upstream/buffered_call.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace zoo::clusters {

/// Which addresses pods of the upstream have, whosever they are, as its API server says when it is
/// asked: Nodes do not always say of which networks their pods are. One question at a time, for one
/// virtual cluster. On its loop.
class UpstreamPods {
public:
  /// Has a pod that runs, with a network of its own, the address? An error: the upstream does not
  /// say.
  using Done = std::function<void(Result<bool>)>;

  /// `api`: the upstream as zood, on this loop; asked for when it is needed.
  explicit UpstreamPods(std::function<upstream::Caller&()> api) : api_(std::move(api)) {}

  /// `address`: as net::canonical_ip() has it. `done` comes once, perhaps from inside this call,
  /// unless what is returned is destroyed before.
  std::shared_ptr<void> find(const std::string& address, Done done);

  static constexpr std::chrono::seconds k_kept{10};
  static constexpr std::chrono::seconds k_none_kept{1}; ///< that no pod has an address
  static constexpr std::size_t k_most = 1'000;          ///< answers that are kept
  static constexpr std::size_t k_answer_bytes = 1u << 20;

private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    bool is_pod = false;
    Clock::time_point read_at{};
  };
  struct Waiting {
    std::string address;
    std::weak_ptr<Done> done; ///< gone: nobody waits any more
  };
  void tidy(); ///< forgets questions that their askers have given up, once there are many
  void next();
  void answered(const std::string& address, Result<upstream::Answer> answer);

  const std::function<upstream::Caller&()> api_;
  std::map<std::string, Known, std::less<>> known_;
  std::deque<Waiting> waiting_; ///< about twice as many as there are connections, at most
  std::unique_ptr<upstream::BufferedCall> call_;
};

} // namespace zoo::clusters
