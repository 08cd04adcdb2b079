// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json_fwd.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

namespace zoo::accounts {

/// Of the ValidatingWebhookConfiguration, and what comes before the sentence of a refusal upstream.
inline constexpr std::string_view k_quota_hook = "zoo-quota";
inline constexpr std::string_view k_quota_webhook = "quota.zoo.kubezoo.io";
/// Of more tenants than that the webhook is asked about all tenants' namespaces.
inline constexpr std::size_t k_most_hook_tenants = 500;

using QuotaNames = std::set<std::string, std::less<>>;

/// Whom the webhook is asked about.
struct QuotaHookScope {
  QuotaNames accounts; ///< whose spaces, by the label kiosk.sh/account
  QuotaNames tenants;  ///< whose namespaces, by the label tenant.kubezoo.io/id
  QuotaNames kinds;    ///< "pods", "deployments.apps": what their limits count
  bool operator==(const QuotaHookScope&) const = default;
};

/// The configuration itself. Pure.
nlohmann::json quota_hook(const std::string& url, const std::string& ca_pem,
                          const QuotaHookScope& scope);

/// Keeps the webhook upstream: there while the door is reached from upstream and anybody has a
/// quota, about exactly those; else not. An orderly stop takes it away. A thread "quota-hook" of
/// its own.
class QuotaHook {
public:
  struct Parts {
    std::function<std::unique_ptr<upstream::ControlApi>()> api;
    std::string url; ///< with the secret path
    std::string ca_pem;
  };
  explicit QuotaHook(Parts parts);
  ~QuotaHook() { stop(); }

  void start();
  void set_scope(QuotaHookScope scope); ///< any thread
  void set_reached(bool reached);       ///< upstream was seen to call the door, or not; any thread
  /// Of several zoods one alone keeps it; the others leave it as it is. Any thread.
  void lead(bool leads);
  void touched(); ///< somebody has changed it upstream; any thread
  /// Takes it away, for at most so long, and does not put it there again.
  void withdraw(std::chrono::milliseconds most);
  void stop();                 ///< joins; requests in progress must have been stopped
  bool stands() const;         ///< it is there, about whom it should be
  std::string trouble() const; ///< why it is not as it should be; "": it is

private:
  void run();
  Result<void> put_right(bool wanted, const QuotaHookScope& scope);

  const Parts parts_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  QuotaHookScope scope_;
  bool leads_ = true;
  bool reached_ = false, withdrawn_ = false, ending_ = false, due_ = true, stands_ = false;
  std::string trouble_;
  std::thread thread_;
};

} // namespace zoo::accounts
