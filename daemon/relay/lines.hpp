// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/net/loop.hpp"
#include "daemon/relay/hooks.hpp"
#include "daemon/relay/limits.hpp"
#include "daemon/relay/pods.hpp"
#include "daemon/relay/tally.hpp"
#include "daemon/relay/tunnel.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace zoo::relay {

/// The tunnels to all webhooks, kept for the next call: of one webhook a few, to pods of its
/// Service that are ready. A question that finds all of them busy waits its turn. On one loop.
class Lines {
public:
  using Done = std::function<void(Result<HookAnswer>)>;

  Lines(net::Loop& loop, upstream::Caller& caller, const Limits& limits, Tally& tally)
      : loop_(loop), caller_(caller), limits_(limits), tally_(tally), pods_(caller, limits),
        sweeper_(loop) {}
  ~Lines();

  /// One question on its way. Destroying it takes it back: a tunnel that is busy with it is closed.
  class Asking {
  public:
    ~Asking();
    /// It waits for another one's answer, not for its own.
    bool queued() const;

  private:
    friend class Lines;
    struct Job;
    explicit Asking(std::shared_ptr<Job> job) : job_(std::move(job)) {}
    std::shared_ptr<Job> job_;
  };

  /// `request`: head and body as HTTP/1.1 sends them. Where a pod fails before the first byte of
  /// its answer, another one, or a tunnel that is new, is tried once. `key`: of the webhook
  /// (key_of()); `owner`: the tenant's ID. `done` comes once, not from inside this call. Errors:
  /// Code::unavailable, not_found, too_large, in one sentence.
  std::unique_ptr<Asking> ask(const std::string& key, const std::string& owner, HookPtr hook,
                              std::string request, Done done);

  std::size_t tunnels() const { return open_; }

private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    std::shared_ptr<Tunnel> tunnel;
    HookPtr hook;
    Clock::time_point idle_since{};
    bool used = false; ///< it has answered something
  };
  struct Line {
    std::list<Kept> tunnels;
    std::deque<std::shared_ptr<Asking::Job>> waiting; ///< for a tunnel
  };
  using JobPtr = std::shared_ptr<Asking::Job>;

  void take_back(const JobPtr& job);
  void find_pods(const JobPtr& job);
  void place(const JobPtr& job, const PodPorts& pods);
  bool use_kept(const JobPtr& job, Line& line, const std::vector<PodPort>& pods);
  bool make_room_for(const std::string& owner);
  void open(const JobPtr& job, Line& line, const PodPort& pod);
  void send(const JobPtr& job, Kept& kept);
  void answered(const JobPtr& job, Tunnel* tunnel, Result<HookAnswer> answer, bool began);
  void settle(const JobPtr& job, Result<HookAnswer> answer);
  void serve_waiting(const std::string& key);
  void drop(const std::string& key, const Tunnel* tunnel);
  void gone(const std::string& owner);
  void sweep();

  net::Loop& loop_;
  upstream::Caller& caller_;
  const Limits& limits_;
  Tally& tally_;
  Pods pods_;
  std::unordered_map<std::string, Line> lines_; ///< those with tunnels, or who waits for one
  std::unordered_map<std::string, std::size_t> open_of_; ///< tunnels, by tenant
  std::size_t open_ = 0;
  net::Timer sweeper_;
  bool sweeping_ = false;
  const std::shared_ptr<bool> lives_ = std::make_shared<bool>(true); ///< for what is posted
};

} // namespace zoo::relay
