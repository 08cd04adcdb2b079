// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace zoo::resources {

/// The threads "<name>-0", "<name>-1", ... of one API that zood serves itself: they run what blocks
/// (store, upstream, NSS). Shared by all loops; any thread may submit. Destroyed (or stop()ped)
/// before the loops and before whatever its jobs use.
class Workers {
public:
  /// Slow work waits for the upstream; one thread is always kept free of it, so that a doctor
  /// that hangs on a dead upstream does not hold up `get tenants`.
  enum class Kind { quick, slow };

  /// `name`: ten characters at most, so that the kernel keeps the numbers behind it.
  explicit Workers(std::string name, std::size_t threads = 16, std::size_t queue_limit = 256);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False if the queue of that kind is full or the pool has stopped. What a job throws is logged.
  bool submit(Kind kind, std::function<void()> job);
  enum class Place { given, none, none_of_his };
  /// The same for slow work of one of many users: of `whose` k_slow_of_one are done or wait, so
  /// that one of them does not take the places of all others.
  Place submit_slow(const std::string& whose, std::function<void()> job);
  /// Never refused: for what must be put away off the loop. Runs in place after stop().
  void put_away(std::function<void()> job);
  /// Finishes what runs, drops what waits, joins. Idempotent.
  void stop();
  std::size_t waiting() const; ///< jobs; any thread

  static constexpr std::size_t k_slow_of_one = 4;

private:
  struct Job {
    std::function<void()> run;
    std::string whose; ///< empty: it is not counted by whose it is
  };
  void run(std::size_t number);
  bool next(Job& job, bool& slow);

  const std::string name_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> quick_, slow_;
  std::unordered_map<std::string, std::size_t> slow_of_; ///< done or waiting, by whose they are
  std::size_t queue_limit_;
  std::size_t slow_running_ = 0, slow_limit_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// What somebody is answered for whom there is no Place.
Error too_many_of_his();

} // namespace zoo::resources
