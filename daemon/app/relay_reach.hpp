// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/control_api.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace zoo::app {

/// Proves that upstream's kube-apiserver reaches a door of zood's, the relay's or the broker's: for
/// the length of a proof a webhook of zood's own stands upstream, for one ConfigMap name in
/// zoo-system that nobody uses, and a dry run of that ConfigMap makes upstream call it. Whether the
/// call has come is what counts, by a secret in its path. Repeated: soon where it failed, now and
/// then where it did not. A thread "relay-reach", by the word, of its own.
class RelayReach {
public:
  struct Parts {
    std::string word; ///< of the names of what stands upstream for it: "relay"
    std::function<std::unique_ptr<upstream::ControlApi>()> api;
    std::string base;   ///< "https://192.0.2.1:7444"
    std::string ca_pem; ///< that upstream verifies the door by
    /// On the thread, after each proof: nothing, or why it failed.
    std::function<void(const Result<void>& proof)> told;
    std::chrono::milliseconds again{30'000};   ///< after one that failed; sooner at first
    std::chrono::milliseconds usual{600'000};  ///< after one that did not
    std::chrono::milliseconds patience{5'000}; ///< until upstream has heard of the webhook
  };
  explicit RelayReach(Parts parts);
  ~RelayReach() { stop(); }

  void start();
  void stop(); ///< joins; requests in progress must have been stopped
  /// Is this the path of the proof that is under way? Then it has come. Any thread.
  bool hears(std::string_view path);
  /// One proof. Code::invalid: upstream does not reach it, in its words; any other code: upstream
  /// could not be asked. Blocks; the thread's, and tests'.
  Result<void> prove(upstream::ControlApi& api);

private:
  void run();
  Result<void> ask(upstream::ControlApi& api);

  const Parts parts_;
  const std::string name_; ///< of the webhook and of the ConfigMap
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string path_; ///< under mutex_; "": no proof is under way
  bool heard_ = false, ending_ = false;
  std::thread thread_;
};

} // namespace zoo::app
