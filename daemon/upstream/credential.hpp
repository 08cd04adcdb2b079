// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace zoo::upstream {

class ControlTally;

struct CredentialOptions {
  std::filesystem::path directory;               ///< of zood: holds upstream.token (0600)
  std::chrono::seconds lifetime{30 * 24 * 3600}; ///< asked for; the upstream may give less
  std::chrono::milliseconds retry{60'000};       ///< after a renewal that failed
};

/// zood's own credential upstream: a token of ServiceAccount zoo-system/zood, kept in a file,
/// renewed at half of its life by its own right, or by the access it was obtained with once it has
/// expired. As strong as cluster-admin, never system:masters. One thread ("upstream-token");
/// everything public may be called from any thread.
class Credential {
public:
  using Authorization = std::shared_ptr<const std::string>;

  /// `access`: what --upstream names, an administrator's or the ServiceAccount's own. Installs what
  /// zood needs (bootstrap), gets the token (or takes the kept one), and waits until the upstream
  /// honours it. Every Error is a sentence for the administrator; Code::unavailable and timeout
  /// may be tried again.
  static Result<std::unique_ptr<Credential>> obtain(const kube::ClusterAccess& access,
                                                    CredentialOptions options);
  ~Credential();

  /// "Bearer ...": never null.
  Authorization authorization() const;
  /// Called now and after each renewal, on the thread of the caller or of this class.
  void on_change(std::function<void(Authorization)> listener);

  /// A new client that follows renewals. Must not outlive this. Not `repeatable`: what is written
  /// is sent once (http_client::Request::repeatable), for answers that go to a user as they are.
  std::unique_ptr<ControlApi> api(bool repeatable = true) const;

  /// The same for requests that are made for somebody else.
  std::unique_ptr<ActingApi> acting_api() const;

  /// Whatever is asked by an api() of this ends within moments, Code::cancelled, now and later.
  void stop_requests() { stop_.request_stop(); }

  /// When the token ends; the epoch for a given token of unknown end.
  std::chrono::system_clock::time_point expires() const;
  /// Why the last renewal failed, or its token could not be kept; "" if neither.
  std::string trouble() const;
  const std::string& server() const { return server_; }
  const ControlTally& tally() const { return *tally_; } ///< of what was asked by its clients

  Result<void> renew(); ///< now

private:
  struct Token {
    Authorization authorization;
    std::chrono::system_clock::time_point obtained, expires;
  };
  Credential(const kube::ClusterAccess& access, CredentialOptions options);
  Result<void> start();
  Result<bool> load();
  Result<void> request(ControlApi& api);
  Result<void> adopt(std::string token, std::chrono::system_clock::time_point obtained,
                     std::chrono::system_clock::time_point expires, bool keep);
  void run(const std::stop_token& stop);
  std::chrono::system_clock::time_point renewal_due() const;

  CredentialOptions options_;
  const std::unique_ptr<ControlTally> tally_;
  kube::ClusterAccess given_; ///< as --upstream names it
  kube::ClusterAccess bare_;  ///< the server and its CA only
  std::string server_;
  bool given_is_own_ = false;
  std::filesystem::path file_;

  mutable std::mutex mutex_;
  Token token_;
  std::string trouble_;
  std::function<void(Authorization)> listener_;
  std::stop_source stop_;
  std::condition_variable_any wake_;
  std::jthread thread_; // last: stops first
};

} // namespace zoo::upstream
