// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/published.hpp"
#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class ControlApi;
}

/// What upstream keeps, once for all tenants, so that their pods find zood where they look for the
/// API server, and the tenant's names where they look for names (decision 188): Service and
/// EndpointSlice zoo-system/zood, ConfigMap zoo-system/zoo-inside, and the policy with its binding
/// (upstream/inside_manifests.hpp).
namespace zoo::tenants {

/// What zood.yaml says of it.
struct InsideSettings {
  bool enabled = true;
  std::string host; ///< advertised, without the brackets of IPv6
  std::uint16_t port = 0;
  std::string domain = "cluster.local";
  std::vector<std::string> dns_servers; ///< of pods; none: the address of kube-system/kube-dns
  /// Whose ConfigMap it is. An upstream has one policy for pods: a zood that finds another one's
  /// ConfigMap writes nothing, and one that does not want the policy removes its own alone.
  std::string owner;
};

/// Is zood the API server inside pods? Condition InClusterAccess of every Tenant that does not
/// switch it off.
struct InClusterAccess {
  bool given = false;
  std::string reason, message; ///< as a condition has them
  bool operator==(const InClusterAccess&) const = default;
};

/// What came of the last look.
struct InsideState {
  InClusterAccess access;
  std::string version;    ///< of admissionregistration.k8s.io that the policy is of; "": none is
  std::string cluster_ip; ///< of Service zoo-system/zood; "": not known
  std::string api_host;   ///< what pods are given
  std::uint16_t api_port = 0;
  std::string dns_servers;                ///< separated by spaces; "": pods keep upstream's DNS
  std::string audiences;                  ///< upstream's own, separated by spaces
  std::vector<std::string> missing_names; ///< that the door's certificate is not good for
  std::string trouble;                    ///< what could not be done; "": nothing
};

/// Names that a door's certificate must be good for so that a pod takes it for the API server.
std::vector<std::string> names_inside(std::string_view domain);

nlohmann::json door_service_manifest(std::uint16_t port);
nlohmann::json door_slice_manifest(std::string_view address, std::uint16_t port);
/// ConfigMap zoo-system/zoo-inside.
nlohmann::json inside_params_manifest(const InsideSettings& settings, const InsideState& state);

/// Keeps all of that as it has to be. look() by one thread at a time; state() from any.
class Inside {
public:
  using Clock = std::chrono::steady_clock;
  struct Parts {
    /// Makes the certificate of the tenants' door good for this address and for names_inside(), if
    /// zood makes that itself. Returns those that it is not good for.
    std::function<std::vector<std::string>(const std::string& address)> cover;
    /// Has each namespace of a tenant its ConfigMap zoo-root-ca.crt? Until then no policy is
    /// installed, for pods would wait for it. Null: each has.
    std::function<bool()> spaces_are_furnished;
  };

  Inside(InsideSettings settings, Parts parts);

  /// Compares, and writes what differs. What it comes to is in state(); an Error: upstream could
  /// not be asked. Returns after what time it wants to look again, be it told of nothing.
  Result<std::chrono::milliseconds> look(upstream::ControlApi& api, Clock::time_point now);
  std::shared_ptr<const InsideState> state() const { return state_.load(); }
  const InsideSettings& settings() const { return settings_; }

private:
  Result<void> find_version(upstream::ControlApi& api, Clock::time_point now);
  Result<void> keep_door(upstream::ControlApi& api, InsideState& next);
  Result<std::string> owner_upstream(upstream::ControlApi& api) const;
  Result<std::string> remembered_address(upstream::ControlApi& api) const;
  Result<void> find_servers(upstream::ControlApi& api, InsideState& next) const;
  Result<void> find_audiences(upstream::ControlApi& api, Clock::time_point now);
  Result<bool> install(upstream::ControlApi& api, InsideState& next);
  Result<void> withdraw(upstream::ControlApi& api);
  void publish(InsideState next, bool given, std::string_view reason, std::string message);

  const InsideSettings settings_;
  const Parts parts_;
  const std::string unreachable_; ///< why no pod can reach the advertised address; "": they can
  std::string version_, audiences_;
  std::optional<Clock::time_point> version_at_, audiences_at_;
  std::optional<Clock::time_point> installed_at_; ///< by this zood, and not there before
  std::optional<Clock::time_point> unwanted_since_;
  bool withdrawn_ = false;
  Published<const InsideState> state_;
};

} // namespace zoo::tenants
