// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/relay_reach.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/client.hpp"
#include "daemon/translate/webhook_relay.hpp"

#include <nlohmann/json.hpp>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace zoo::app {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::string_view k_reach_maps = "/api/v1/namespaces/zoo-system/configmaps?dryRun=All";
/// Of what upstream says when a webhook does not answer (k8s.io/apiserver pkg/admission/plugin/
/// webhook, ErrCallingWebhook).
constexpr std::string_view k_calling = "failed calling webhook";
constexpr milliseconds k_first_pause{1'000}, k_step{100};
constexpr int k_call_seconds = 3;

/// By the address, so that zoods in front of the same upstream do not take each other's.
std::string name_of(const RelayReach::Parts& parts) {
  return fmt::format("zoo-{}-reach-{}", parts.word, crypto::short_digest(parts.base));
}

std::string path_of_webhook(const std::string& name) {
  return std::string(translate::collection_of(translate::Hook::validating)) + kube::path({name});
}

/// It is called for one name in one namespace, which nothing but a proof asks for; so Fail, which
/// makes upstream say why it does not come through, holds nobody up.
json webhook(const std::string& name, const std::string& url, const std::string& ca_pem) {
  const json rule = {{"apiGroups", {""}},
                     {"apiVersions", {"v1"}},
                     {"operations", {"CREATE"}},
                     {"resources", {"configmaps"}},
                     {"scope", "Namespaced"}};
  json hook = {{"name", "relay-reach.zoo.kubezoo.io"},
               {"admissionReviewVersions", {"v1"}},
               {"sideEffects", "None"},
               {"failurePolicy", "Fail"},
               {"timeoutSeconds", k_call_seconds},
               {"rules", json::array({rule})},
               {"clientConfig", {{"url", url}, {"caBundle", crypto::base64_encode(ca_pem)}}}};
  hook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = "zoo-system";
  hook["objectSelector"]["matchLabels"]["zoo.kubezoo.io/relay-reach"] = name;
  hook["matchConditions"] =
      json::array({{{"name", "own"}, {"expression", fmt::format("request.name == '{}'", name)}}});
  return {{"apiVersion", "admissionregistration.k8s.io/v1"},
          {"kind", "ValidatingWebhookConfiguration"},
          {"metadata", {{"name", name}}},
          {"webhooks", json::array({std::move(hook)})}};
}

json probe(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", name},
            {"namespace", "zoo-system"},
            {"labels", {{"zoo.kubezoo.io/relay-reach", name}}}}}};
}

} // namespace

RelayReach::RelayReach(Parts parts) : parts_(std::move(parts)), name_(name_of(parts_)) {}

void RelayReach::start() {
  thread_ = std::thread([this] { run(); });
  ::pthread_setname_np(thread_.native_handle(), (parts_.word + "-reach").c_str());
}

void RelayReach::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool RelayReach::hears(std::string_view path) {
  const std::scoped_lock lock(mutex_);
  if (path_.empty() || !crypto::equal_constant_time(path, path_)) return false;
  heard_ = true;
  changed_.notify_all();
  return true;
}

void RelayReach::run() {
  auto pause = k_first_pause;
  for (;;) {
    Result<void> proof;
    try {
      proof = prove(*parts_.api());
    } catch (const std::exception& problem) {
      proof = fail(Code::internal, "{}", problem.what());
    }
    {
      const std::scoped_lock lock(mutex_);
      if (ending_) return;
    }
    parts_.told(proof);
    const auto wait = proof ? parts_.usual : std::min(pause, parts_.again);
    pause = proof ? k_first_pause : std::min(pause * 2, parts_.again);
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, wait, [this] { return ending_; })) return;
  }
}

Result<void> RelayReach::prove(upstream::ControlApi& api) {
  ZOO_TRY(const auto secret, crypto::random_bytes(32));
  const auto path = "/reach/" + crypto::base64url_encode(secret);
  {
    const std::scoped_lock lock(mutex_);
    path_ = path;
    heard_ = false;
  }
  auto proof = [&]() -> Result<void> {
    ZOO_TRY_VOID(
        api.apply(path_of_webhook(name_), webhook(name_, parts_.base + path, parts_.ca_pem)));
    return ask(api);
  }();
  {
    const std::scoped_lock lock(mutex_);
    path_.clear();
    if (heard_) proof = {};
  }
  if (const auto removed = api.remove(path_of_webhook(name_)); !removed)
    log::warning("app", "webhook {} is left upstream: {}", name_, removed.error().text());
  return proof;
}

/// Upstream hears of webhooks by a watch, a moment late: until then it asks nobody.
Result<void> RelayReach::ask(upstream::ControlApi& api) {
  const auto end = std::chrono::steady_clock::now() + parts_.patience;
  for (;;) {
    const auto made = api.create(k_reach_maps, probe(name_));
    std::unique_lock lock(mutex_);
    if (heard_) return {};
    if (ending_) return fail(Code::cancelled, "zood ends");
    if (!made && made.error().message().find(k_calling) == std::string::npos)
      return fail(made.error());
    if (!made)
      return fail(Code::invalid, "the upstream cannot call {}: {}", parts_.base,
                  made.error().message());
    if (std::chrono::steady_clock::now() >= end)
      return fail(Code::invalid,
                  "the upstream says that it has called {}, and nothing came: does that address "
                  "lead to another zood?",
                  parts_.base);
    changed_.wait_for(lock, k_step, [this] { return ending_ || heard_; });
  }
}

} // namespace zoo::app
