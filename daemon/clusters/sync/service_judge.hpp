// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/clusters/sync/mirror.hpp"
#include "daemon/clusters/sync/service_review.hpp"
#include "daemon/clusters/sync/sync_room.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace zoo::clusters::sync {

/// Answers the questions of one cluster's API server about Services: each is made or changed
/// upstream first, and has in the cluster what it was given there. What the API server does not
/// store after all is taken away again by the mirror. Any thread.
class ServiceJudge {
public:
  using Done = std::function<void(std::string answer)>; ///< on the thread that has judged

  ServiceJudge(const SyncRoom& room, Mirror& mirror);

  /// Does not block; work() answers. Without an answer from upstream the Service is let through as
  /// it is, with a warning; so it is if both sides are not read within some seconds. False: k_most
  /// questions wait, and `done` is not called.
  bool ask(std::string body, Done done);
  /// A key of the queue without "h/". Blocking.
  WorkNext work(const std::string& number);

  static constexpr std::size_t k_most = 64; ///< questions of one cluster that wait

private:
  struct Question {
    std::string body;
    Done done;
    std::chrono::steady_clock::time_point asked;
  };
  std::string judge(std::string_view body);
  Result<std::string> judge(const ServiceReview& review);
  Result<nlohmann::json> make(const ServiceReview& review, const MirrorWish& wish);
  Result<nlohmann::json> change(const ServiceReview& review, const MirrorWish& wish,
                                const nlohmann::json& raw);
  Result<bool> is_in_cluster(const ServiceReview& review);
  nlohmann::json marked(nlohmann::json body, const MirrorWish& wish) const;

  const SyncRoom& room_;
  Mirror& mirror_;
  const std::size_t kind_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Question> waiting_;
};

} // namespace zoo::clusters::sync
