// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_hook.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/account.hpp"
#include "daemon/translate/mapping.hpp"
#include "daemon/translate/text.hpp"

#include <nlohmann/json.hpp>
#include <pthread.h>

#include <exception>
#include <map>
#include <utility>
#include <vector>

namespace zoo::accounts {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

/// Of an account's name: it is the value of a label.
constexpr std::size_t k_longest_label = 63;
constexpr milliseconds k_together{50}, k_again{2'000}, k_rebuild{600'000};

std::string hook_path() {
  return kube::path({"apis", "admissionregistration.k8s.io", "v1",
                     "validatingwebhookconfigurations", k_quota_hook});
}

/// Of these an update may cost more than before (k8s.io/kubernetes pkg/quota/v1/evaluator/core,
/// Handles).
bool updates_cost(std::string_view kind) {
  return kind == "services" || kind == "persistentvolumeclaims" ||
         kind == "resourceclaims.resource.k8s.io";
}

json rules_of(const QuotaNames& kinds) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by; // group, operations
  for (const auto& kind : kinds) {
    const auto dot = kind.find('.');
    const auto resource = kind.substr(0, dot);
    const auto group = dot == std::string::npos ? std::string() : kind.substr(dot + 1);
    by[{group, "CREATE"}].push_back(resource);
    if (updates_cost(kind)) by[{group, "UPDATE"}].push_back(resource);
    if (kind == "pods") by[{group, "UPDATE"}].push_back("pods/resize");
  }
  auto out = json::array();
  for (const auto& [what, resources] : by)
    out.push_back({{"apiGroups", {what.first}},
                   {"apiVersions", {"*"}},
                   {"operations", {what.second}},
                   {"resources", resources},
                   {"scope", "Namespaced"}});
  return out;
}

} // namespace

/// Ignore: with zood away everything goes on, and what the slices allow holds. One second is the
/// least that upstream takes.
json quota_hook(const std::string& url, const std::string& ca_pem, const QuotaHookScope& scope) {
  auto hooks = json::array();
  const auto add = [&](std::string_view name, json selects) {
    json hook = {{"name", name},
                 {"admissionReviewVersions", {"v1"}},
                 {"sideEffects", "NoneOnDryRun"},
                 {"failurePolicy", "Ignore"},
                 {"matchPolicy", "Equivalent"},
                 {"timeoutSeconds", 1},
                 {"rules", rules_of(scope.kinds)},
                 {"clientConfig", {{"url", url}, {"caBundle", crypto::base64_encode(ca_pem)}}}};
    hook["namespaceSelector"]["matchExpressions"] = json::array({std::move(selects)});
    hooks.push_back(std::move(hook));
  };
  // A longer name is the value of no label, and would have upstream refuse all others with it.
  auto accounts = json::array();
  for (const auto& name : scope.accounts)
    if (name.size() <= k_longest_label) accounts.push_back(name);
  if (!accounts.empty())
    add(k_quota_webhook,
        {{"key", k_account_label}, {"operator", "In"}, {"values", std::move(accounts)}});
  if (scope.tenants.size() > k_most_hook_tenants) {
    add(translate::k_tenant_quota_webhook,
        {{"key", translate::k_tenant_label}, {"operator", "Exists"}});
  } else if (!scope.tenants.empty()) {
    add(translate::k_tenant_quota_webhook,
        {{"key", translate::k_tenant_label}, {"operator", "In"}, {"values", scope.tenants}});
  }
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "ValidatingWebhookConfiguration"},
          {"metadata", {{"name", k_quota_hook}, {"labels", {{"zoo.kubezoo.io/managed", "true"}}}}},
          {"webhooks", std::move(hooks)}};
}

QuotaHook::QuotaHook(Parts parts) : parts_(std::move(parts)) {}

void QuotaHook::start() {
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), "quota-hook");
}

void QuotaHook::set_scope(QuotaHookScope scope) {
  const std::scoped_lock lock(mutex_);
  if (scope_ == scope) return;
  scope_ = std::move(scope);
  due_ = true;
  changed_.notify_all();
}

void QuotaHook::set_reached(bool reached) {
  const std::scoped_lock lock(mutex_);
  if (reached_ == reached) return;
  reached_ = reached;
  due_ = true;
  changed_.notify_all();
}

void QuotaHook::lead(bool leads) {
  const std::scoped_lock lock(mutex_);
  leads_ = leads;
  if (!leads) stands_ = false; // another one's does
  due_ = true;
  changed_.notify_all();
}

void QuotaHook::touched() {
  const std::scoped_lock lock(mutex_);
  if (withdrawn_) return;
  due_ = true;
  changed_.notify_all();
}

void QuotaHook::withdraw(milliseconds most) {
  std::unique_lock lock(mutex_);
  withdrawn_ = due_ = true;
  changed_.notify_all();
  changed_.wait_for(lock, most, [this] { return !due_ && !stands_; });
}

void QuotaHook::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool QuotaHook::stands() const {
  const std::scoped_lock lock(mutex_);
  return stands_;
}

std::string QuotaHook::trouble() const {
  const std::scoped_lock lock(mutex_);
  return trouble_;
}

void QuotaHook::run() {
  auto pause = k_rebuild;
  for (;;) {
    QuotaHookScope scope;
    bool wanted = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, pause, [this] { return due_ || ending_; });
      // What changes at a start changes for many.
      if (!withdrawn_)
        changed_.wait_for(lock, k_together, [this] { return ending_ || withdrawn_; });
      if (ending_) return;
      due_ = false;
      if (!leads_) {
        changed_.notify_all();
        continue;
      }
      scope = scope_;
      wanted = reached_ && !withdrawn_ && !scope.kinds.empty() &&
               !(scope.accounts.empty() && scope.tenants.empty());
    }
    Result<void> done;
    try {
      done = put_right(wanted, scope);
    } catch (const std::exception& problem) {
      done = fail(Code::internal, "{}", problem.what());
    }
    const std::scoped_lock lock(mutex_);
    const auto trouble = done ? std::string() : done.error().text();
    if (trouble != trouble_ && !trouble.empty())
      log::warning("accounts", "the webhook of quotas is not as it should be: {}", trouble);
    trouble_ = trouble;
    if (done) stands_ = wanted;
    pause = done ? k_rebuild : k_again;
    changed_.notify_all();
  }
}

/// Applied, so that what upstream fills in is no difference.
Result<void> QuotaHook::put_right(bool wanted, const QuotaHookScope& scope) {
  const auto api = parts_.api();
  if (!wanted) return api->remove(hook_path());
  ZOO_TRY_VOID(api->apply(hook_path(), quota_hook(parts_.url, parts_.ca_pem, scope)));
  return {};
}

} // namespace zoo::accounts
