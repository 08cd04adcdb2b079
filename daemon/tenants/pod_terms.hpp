// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "common/base/result.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/translate/mapping.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace zoo::upstream {
class ControlApi;
}

namespace zoo::tenants {

/// The parameters of upstream's policies zoo-tenants-pods, -status, -claims, -definitions and
/// -webhooks (upstream_rbac.cpp), as ConfigMap zoo-system/zoo-pods holds them: what zood.yaml and
/// the Tenants let them have. "nodeNames", "priority", "serviceStatus" and "conversionWebhooks" for
/// everybody, "nodeNames.<id>" and so on where a Tenant differs; "priorityClasses", of the
/// platform, that may exceed the priority; "runtimeClasses", "storageClasses" and
/// "volumeAttributesClasses" that are shared; "audiences" of upstream's own tokens, which a pod may
/// not ask for, where pods are given zood's (inside.hpp). Beside these "relay.<8 hex digits>", with
/// which the URLs of the relay of webhooks begin, where there is one: each zood beside an upstream
/// adds its own.
using PodTermsData = std::map<std::string, std::string>;

/// `least_priority`: what pods without a class get upstream, and may therefore have.
PodTermsData pod_terms(const api::Guards& guards, const translate::SharedNames& shared,
                       const TenantSnapshot& tenants, std::int64_t least_priority,
                       std::string_view audiences = {});

/// Keeps them upstream as they are here; one thread at a time.
class PodTerms {
public:
  using Clock = std::chrono::steady_clock;
  struct Sources {
    api::Guards guards; ///< zood.yaml's
    std::shared_ptr<const translate::SharedNames> shared;
    std::shared_ptr<const TenantSnapshot> tenants;
    std::string audiences{}; ///< upstream's, separated by spaces; "": pods may have any token
    std::string relay{};     ///< translate::Relay::base; "": webhooks are called directly
  };

  /// Names of the PriorityClasses that a pod gets which names none; asked for where a priority is
  /// limited at all. Null, or nullopt: not known, all are read.
  using Defaults = std::function<std::optional<Names>()>;

  explicit PodTerms(Defaults defaults = {}) : defaults_(std::move(defaults)) {}

  /// Writes what has changed, and all of it once a minute, for somebody may have removed it. Else
  /// it costs nothing while the sources are the same, but for a read of those PriorityClasses each
  /// half minute.
  Result<void> look(upstream::ControlApi& api, Sources now, Clock::time_point at);

private:
  Result<std::int64_t> default_priority(upstream::ControlApi& api,
                                        const std::optional<Names>& names) const;

  const Defaults defaults_;
  std::optional<Names> seen_defaults_;
  Sources seen_;
  PodTermsData written_;
  bool limits_ = false; ///< somebody's pods may not have every priority
  std::optional<Clock::time_point> read_, written_at_;
  std::int64_t least_ = 0;
};

/// Looks once a second from construction to destruction. Thread "pod-terms".
class PodTermsKeeper {
public:
  PodTermsKeeper(std::function<std::unique_ptr<upstream::ControlApi>()> connect,
                 std::function<PodTerms::Sources()> sources, PodTerms::Defaults defaults);

private:
  std::jthread thread_;
};

} // namespace zoo::tenants
