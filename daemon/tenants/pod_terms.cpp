// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/pod_terms.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace zoo::tenants {
namespace {

using namespace std::chrono_literals;

constexpr auto k_look = 1s;
constexpr auto k_read = 30s;
constexpr auto k_repair = 60s; ///< without the ConfigMap upstream refuses every pod of a tenant
constexpr std::int64_t k_highest = 1'000'000'000; ///< of what is not the system's own
constexpr std::string_view k_path = "/api/v1/namespaces/zoo-system/configmaps/zoo-pods";
constexpr std::string_view k_classes = "/apis/scheduling.k8s.io/v1/priorityclasses";

/// Addresses of relays have keys of their own, so that several zoods beside one upstream do not
/// take each other's away.
std::string relay_key(std::string_view base) { return "relay." + crypto::short_digest(base); }

std::string word(bool value) { return value ? "true" : "false"; }

std::string classes_of(const translate::SharedNames& shared, translate::Overlay kind) {
  std::string out;
  for (const auto& name : shared.classes[static_cast<std::size_t>(kind)]) {
    if (!out.empty()) out += ' ';
    out += name;
  }
  return out;
}

bool limits_priority(const api::Guards& guards, const TenantSnapshot& tenants) {
  bool limits = guards.priority < k_highest;
  tenants.each([&](const TenantEntry& tenant) {
    limits = limits || tenant.terms.guards.priority.value_or(k_highest) < k_highest;
  });
  return limits;
}

} // namespace

PodTermsData pod_terms(const api::Guards& guards, const translate::SharedNames& shared,
                       const TenantSnapshot& tenants, std::int64_t least_priority,
                       std::string_view audiences) {
  PodTermsData out;
  if (!audiences.empty()) out["audiences"] = audiences;
  out["nodeNames"] = word(guards.node_names);
  out["serviceStatus"] = word(guards.service_status);
  out["conversionWebhooks"] = word(guards.conversion_webhooks);
  out["priority"] = std::to_string(std::max(guards.priority, least_priority));
  out["priorityClasses"] = classes_of(shared, translate::Overlay::priority_class);
  out["runtimeClasses"] = classes_of(shared, translate::Overlay::runtime_class);
  out["storageClasses"] = classes_of(shared, translate::Overlay::storage_class);
  out["volumeAttributesClasses"] = classes_of(shared, translate::Overlay::volume_attributes_class);
  tenants.each([&](const TenantEntry& tenant) {
    const auto& own = tenant.terms.guards;
    if (own.node_names && *own.node_names != guards.node_names)
      out["nodeNames." + tenant.id] = word(*own.node_names);
    if (own.service_status && *own.service_status != guards.service_status)
      out["serviceStatus." + tenant.id] = word(*own.service_status);
    if (own.conversion_webhooks && *own.conversion_webhooks != guards.conversion_webhooks)
      out["conversionWebhooks." + tenant.id] = word(*own.conversion_webhooks);
    if (own.priority && *own.priority != guards.priority)
      out["priority." + tenant.id] = std::to_string(std::max(*own.priority, least_priority));
  });
  return out;
}

/// Of several upstream takes the lowest (plugin/pkg/admission/priority/admission.go).
Result<std::int64_t> PodTerms::default_priority(upstream::ControlApi& api,
                                                const std::optional<Names>& names) const {
  std::optional<std::int64_t> lowest;
  const auto see = [&lowest](const nlohmann::json& each) {
    if (!each.value("globalDefault", false)) return;
    const auto value = each.value("value", std::int64_t{0});
    lowest = std::min(lowest.value_or(value), value);
  };
  if (!names) {
    ZOO_TRY_VOID(range_objects(api, k_classes, {}, 500, 0, false, {}, see));
    return lowest.value_or(0);
  }
  for (const auto& name : *names) {
    const auto found = api.get(std::string(k_classes) + kube::path({name}));
    if (!found && found.error().code() != Code::not_found) return fail(found.error());
    if (found) see(*found);
  }
  return lowest.value_or(0);
}

Result<void> PodTerms::look(upstream::ControlApi& api, Sources now, Clock::time_point at) {
  const bool same = now.tenants == seen_.tenants && now.shared == seen_.shared &&
                    now.guards == seen_.guards && now.audiences == seen_.audiences &&
                    now.relay == seen_.relay;
  if (!same) limits_ = limits_priority(now.guards, *now.tenants);
  const auto defaults = limits_ && defaults_ ? defaults_() : std::nullopt;
  const bool other = defaults && defaults != seen_defaults_;
  const bool due = limits_ && (!read_ || other || at - *read_ >= k_read);
  const bool stale = !written_at_ || at - *written_at_ >= k_repair;
  if (same && !due && !stale) return {};
  if (due) {
    ZOO_TRY(least_, default_priority(api, defaults));
    read_ = at;
    seen_defaults_ = defaults;
  }
  auto wanted =
      pod_terms(now.guards, *now.shared, *now.tenants, limits_ ? least_ : 0, now.audiences);
  if (stale || wanted != written_) {
    const nlohmann::json object = {
        {"apiVersion", "v1"},
        {"kind", "ConfigMap"},
        {"metadata", {{"name", "zoo-pods"}, {"namespace", "zoo-system"}}},
        {"data", wanted}};
    ZOO_TRY_VOID(api.apply(k_path, object));
    written_at_ = at;
  }
  if (!now.relay.empty() && (stale || now.relay != seen_.relay)) {
    // By a patch, so that another zood's beside this upstream stays.
    ZOO_TRY_VOID(api.merge_patch(k_path, {{"data", {{relay_key(now.relay), now.relay}}}}));
  }
  written_ = std::move(wanted);
  seen_ = std::move(now);
  return {};
}

PodTermsKeeper::PodTermsKeeper(std::function<std::unique_ptr<upstream::ControlApi>()> connect,
                               std::function<PodTerms::Sources()> sources,
                               PodTerms::Defaults defaults)
    : thread_([connect = std::move(connect), sources = std::move(sources),
               defaults = std::move(defaults)](const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "pod-terms");
        const auto api = connect();
        PodTerms terms(defaults);
        bool troubled = false;
        std::mutex mutex;
        std::condition_variable_any wake;
        while (!stop.stop_requested()) {
          const auto done = terms.look(*api, sources(), PodTerms::Clock::now());
          if (!done && done.error().code() != Code::cancelled && !std::exchange(troubled, true))
            log::warning("tenants", "what pods may have is not known upstream yet: {}",
                         done.error().text());
          if (done) troubled = false;
          std::unique_lock lock(mutex);
          wake.wait_for(lock, stop, k_look, [] { return false; });
        }
      }) {}

} // namespace zoo::tenants
