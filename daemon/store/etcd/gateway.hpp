// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/http_client/client.hpp"
#include "daemon/store/etcd/etcd.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zoo::store::etcd {

struct Patience {
  std::chrono::milliseconds call{2'000};     ///< of one member
  std::chrono::milliseconds together{5'000}; ///< of all of them
};
/// For answers of many megabytes.
constexpr Patience k_bulk{std::chrono::milliseconds(15'000), std::chrono::milliseconds(30'000)};

/// The members of an etcd, asked by their JSON gateway over kept connections, at most sixteen at a
/// time. The last one that answered is asked first; one that fails is left out for five seconds.
/// Logs in where a user is configured, and again where etcd says so. Any thread.
class Gateway {
public:
  using OnLine = std::function<bool(std::string_view line)>; ///< false: that is enough

  /// Code::invalid: an endpoint, certificate or password that cannot be used.
  static Result<std::unique_ptr<Gateway>> make(EtcdOptions options);

  /// POSTs to one member after the other until one answers. The request may reach etcd more than
  /// once: whoever writes makes it harmless (commit.hpp); `repeated` tells that it may have been.
  /// Code::unavailable: no member answered in time. Code::expired: that revision is compacted, or
  /// has not been yet. Code::too_large, Code::forbidden, Code::not_found (a lease),
  /// Code::cancelled (stop), Code::internal.
  Result<nlohmann::json> ask(std::string_view path, const nlohmann::json& body,
                             Patience patience = {}, std::stop_token stop = {},
                             bool* repeated = nullptr);

  /// One streaming request to one member: line by line, until the stream ends (no error),
  /// `on_line` has enough, nothing comes for `quiet`, or it fails. A member whose stream ended is
  /// left out for five seconds unless on_line had enough.
  Result<void> stream(std::string_view path, const nlohmann::json& body,
                      std::chrono::milliseconds quiet, const OnLine& on_line, std::stop_token stop);

  /// POSTs to every member, one after the other, whatever has become of it before; by its URL, in
  /// the order of the configuration.
  std::vector<std::pair<std::string, Result<nlohmann::json>>>
  ask_each(std::string_view path, const nlohmann::json& body, std::chrono::milliseconds limit);

  std::string members() const; ///< for messages

private:
  using Clock = std::chrono::steady_clock;
  /// An answer that is none.
  struct Refusal {
    Error error;
    bool elsewhere = true;        ///< another member may answer
    bool unauthenticated = false; ///< log in, and ask again
  };
  struct Member {
    std::string url;
    Clock::time_point left_out_until{};
  };
  class Lent; ///< a client from the pool

  explicit Gateway(EtcdOptions options);
  tl::expected<nlohmann::json, Refusal> ask_one(const std::string& url, std::string_view path,
                                                const std::string& body,
                                                std::chrono::milliseconds limit,
                                                const std::stop_token& stop);
  tl::expected<std::string, Refusal> post(const std::string& url, std::string_view path,
                                          const std::string& body, const std::string& token,
                                          std::chrono::milliseconds limit,
                                          const std::stop_token& stop);
  /// The token to send; `stale` is one that etcd does not take any more.
  tl::expected<std::string, Refusal> token(const std::string& url, const std::string& stale,
                                           std::chrono::milliseconds limit,
                                           const std::stop_token& stop);
  static Refusal judge(int status, const std::string& body, const std::string& url);
  std::vector<std::size_t> order();
  void answered(std::size_t member);
  void failed(std::size_t member);
  http_client::Credentials credentials() const;

  const EtcdOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Member> members_;
  std::size_t first_ = 0; ///< the member to ask first
  std::optional<Clock::time_point> away_since_;
  std::vector<std::unique_ptr<http_client::Client>> idle_;
  std::size_t lent_ = 0;
  std::mutex login_; ///< one logs in for all
  std::string token_;
};

} // namespace zoo::store::etcd
