// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/inside.hpp"

#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/net/address.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/inside_manifests.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace zoo::tenants {

using nlohmann::json;
using upstream::ControlApi;

namespace {

using namespace std::chrono_literals;

constexpr auto k_soon = 1s, k_usual = 60s;
constexpr auto k_versions_known = 10min; ///< upstream may be upgraded meanwhile
constexpr auto k_audiences_known = 24h;  ///< a token is made to ask for them
/// Until each kube-apiserver goes by a policy that it was given (its list of policies is made anew
/// once a second).
constexpr auto k_takes_effect = 2s;
constexpr std::string_view k_registration = "/apis/admissionregistration.k8s.io/";
constexpr std::string_view k_kind_of_policy = "mutatingadmissionpolicies";
constexpr std::string_view k_owner = "zoo.kubezoo.io/zood";
constexpr std::string_view k_door = "zood"; ///< the Service and its EndpointSlice
constexpr std::string_view k_option = "--print-upstream-inside";

std::string system_path(std::string_view group, std::string_view resource, std::string_view name) {
  if (group.empty())
    return kube::path({"api", "v1", "namespaces", upstream::k_system_namespace, resource, name});
  return kube::path(
      {"apis", group, "v1", "namespaces", upstream::k_system_namespace, resource, name});
}
const std::string& service_path() {
  static const auto path = system_path("", "services", k_door);
  return path;
}
const std::string& slice_path() {
  static const auto path = system_path("discovery.k8s.io", "endpointslices", k_door);
  return path;
}
const std::string& params_path() {
  static const auto path = system_path("", "configmaps", upstream::k_inside_params);
  return path;
}

std::string address_of_service(const json& service) {
  const auto address = service.value("/spec/clusterIP"_json_pointer, std::string());
  return net::is_ip_address(address) ? address : std::string();
}

/// Writes what differs. Not repaired: Code::forbidden and so on, as upstream said.
Result<void> keep(ControlApi& api, const json& object) {
  const std::vector one{upstream::manifest_of(upstream::Need::identity, k_option, object.dump())};
  ZOO_TRY(const auto states, upstream::bootstrap(api, true, one));
  if (states.front().state == upstream::ObjectState::State::equal) return {};
  return fail(Code::forbidden, "{}: {}", one.front().title(), states.front().message);
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

} // namespace

std::vector<std::string> names_inside(std::string_view domain) {
  return {"kubernetes", "kubernetes.default", "kubernetes.default.svc",
          fmt::format("kubernetes.default.svc.{}", domain)};
}

json door_service_manifest(std::uint16_t port) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", {{"name", k_door}, {"namespace", upstream::k_system_namespace}}},
          {"spec",
           {{"type", "ClusterIP"},
            {"ports",
             {{{"name", "https"}, {"port", 443}, {"protocol", "TCP"}, {"targetPort", port}}}}}}};
}

json door_slice_manifest(std::string_view address, std::uint16_t port) {
  auto out = endpoint_slice_manifest(upstream::k_system_namespace, address, port);
  out["metadata"]["name"] = k_door;
  out["metadata"]["labels"]["kubernetes.io/service-name"] = k_door;
  return out;
}

json inside_params_manifest(const InsideSettings& settings, const InsideState& state) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", upstream::k_inside_params},
            {"namespace", upstream::k_system_namespace},
            {"annotations", {{k_owner, settings.owner}}}}},
          {"data",
           {{"apiHost", state.api_host},
            {"apiPort", std::to_string(state.api_port)},
            {"dnsServers", state.dns_servers},
            {"domain", settings.domain},
            {"audiences", state.audiences}}}};
}

Inside::Inside(InsideSettings settings, Parts parts)
    : settings_(std::move(settings)), parts_(std::move(parts)),
      unreachable_(why_not_an_endpoint(settings_.host)) {
  publish({}, false, "Waiting", "zood has not installed yet upstream what pods need");
}

/// The kind is served, or it is not: nothing is guessed of upstream's version.
Result<void> Inside::find_version(ControlApi& api, Clock::time_point now) {
  if (version_at_ && now - *version_at_ < k_versions_known) return {};
  std::string found;
  for (const std::string_view version : {"v1", "v1beta1"}) {
    const auto served = api.get(fmt::format("{}{}", k_registration, version));
    if (!served && served.error().code() == Code::not_found) continue;
    if (!served) return fail(served.error());
    const auto resources = served->value("resources", json::array());
    const bool there = std::any_of(resources.begin(), resources.end(), [](const json& each) {
      return each.value("name", "") == k_kind_of_policy;
    });
    if (!there) continue;
    found = version;
    break;
  }
  version_ = std::move(found);
  version_at_ = now;
  return {};
}

/// Pods that run go by the address that they were given: one that somebody has removed is made
/// again with its address.
Result<std::string> Inside::remembered_address(ControlApi& api) const {
  if (auto last = state()->cluster_ip; !last.empty()) return last;
  const auto params = api.get(params_path());
  if (!params && params.error().code() == Code::not_found) return std::string();
  if (!params) return fail(params.error());
  auto host = params->value("/data/apiHost"_json_pointer, std::string());
  return net::is_ip_address(host) && host != settings_.host ? host : std::string();
}

/// Of the zood that has written the parameters of the policy; "" where none has.
Result<std::string> Inside::owner_upstream(ControlApi& api) const {
  const auto params = api.get(params_path());
  if (!params && params.error().code() == Code::not_found) return std::string();
  if (!params) return fail(params.error());
  const auto annotations = params->value("/metadata/annotations"_json_pointer, json::object());
  return annotations.value(std::string(k_owner), "");
}

Result<void> Inside::keep_door(ControlApi& api, InsideState& next) {
  auto service = api.get(service_path());
  if (!service && service.error().code() != Code::not_found) return fail(service.error());
  if (!service) {
    ZOO_TRY(const auto address, remembered_address(api));
    if (!address.empty()) {
      auto wanted = door_service_manifest(settings_.port);
      wanted["spec"]["clusterIP"] = address;
      const auto made = api.apply(service_path(), wanted);
      if (!made && made.error().code() != Code::invalid) return fail(made.error());
    }
  }
  ZOO_TRY_VOID(keep(api, door_service_manifest(settings_.port)));
  const auto slice = door_slice_manifest(settings_.host, settings_.port);
  const auto there = api.get(slice_path());
  if (there && there->value("addressType", "") != slice["addressType"].get<std::string>())
    ZOO_TRY_VOID(api.remove(slice_path())); // which cannot be changed
  ZOO_TRY_VOID(keep(api, slice));
  ZOO_TRY(const auto now, api.get(service_path()));
  next.cluster_ip = address_of_service(now);
  if (next.cluster_ip.empty())
    return fail(Code::unavailable, "Service zoo-system/zood has no address yet");
  return {};
}

Result<void> Inside::find_servers(ControlApi& api, InsideState& next) const {
  if (!settings_.dns_servers.empty()) {
    next.dns_servers = joined(settings_.dns_servers);
    return {};
  }
  const auto service = api.get("/api/v1/namespaces/kube-system/services/kube-dns");
  if (service) {
    next.dns_servers = address_of_service(*service);
    return {};
  }
  if (service.error().code() == Code::not_found) return {};
  return fail(service.error());
}

/// Upstream fills in what a TokenRequest leaves out (kube-apiserver's pkg/registry/core/
/// serviceaccount/storage/token.go). The token that comes with it is forgotten.
Result<void> Inside::find_audiences(ControlApi& api, Clock::time_point now) {
  if (audiences_at_ && now - *audiences_at_ < k_audiences_known) return {};
  ZOO_TRY(const auto answer, api.create(system_path("", "serviceaccounts", k_door) + "/token",
                                        {{"apiVersion", "authentication.k8s.io/v1"},
                                         {"kind", "TokenRequest"},
                                         {"spec", {{"expirationSeconds", 600}}}}));
  std::vector<std::string> words;
  for (const auto& each : answer.value("/spec/audiences"_json_pointer, json::array()))
    if (each.is_string()) words.push_back(each.get<std::string>());
  if (words.empty())
    return fail(Code::unavailable, "the upstream does not say for which audiences its tokens are");
  audiences_ = joined(words);
  audiences_at_ = now;
  return {};
}

/// True if something was written.
Result<bool> Inside::install(ControlApi& api, InsideState& next) {
  const auto wanted = upstream::inside_manifests(version_);
  const auto equal = [](const upstream::ObjectState& each) {
    return each.state == upstream::ObjectState::State::equal;
  };
  const auto before = upstream::examine(api, wanted);
  if (std::all_of(before.begin(), before.end(), equal)) return false;
  ZOO_TRY(const auto after, upstream::bootstrap(api, true, wanted));
  for (const auto& each : after)
    if (!equal(each)) next.trouble = fmt::format("{}: {}", each.manifest->title(), each.message);
  return true;
}

/// The binding goes first, so that no pod is refused for want of the rest. The Service stays: pods
/// that run go on to look for it.
Result<void> Inside::withdraw(ControlApi& api) {
  if (withdrawn_) return {};
  ZOO_TRY(const auto owner, owner_upstream(api));
  if (owner == settings_.owner) {
    if (!version_.empty()) {
      const auto all = upstream::inside_manifests(version_);
      for (auto each = all.rbegin(); each != all.rend(); ++each) {
        if (each->name == upstream::k_inside_policy) ZOO_TRY_VOID(api.remove(each->path));
      }
    }
    ZOO_TRY_VOID(api.remove(params_path()));
    log::info("tenants", "pods of tenants are given upstream's own address again");
  }
  withdrawn_ = true;
  return {};
}

void Inside::publish(InsideState next, bool given, std::string_view reason, std::string message) {
  next.access = {given, std::string(reason), std::move(message)};
  state_.store(std::make_shared<const InsideState>(std::move(next)));
}

Result<std::chrono::milliseconds> Inside::look(ControlApi& api, Clock::time_point now) {
  if (!unreachable_.empty() || !settings_.enabled) {
    ZOO_TRY_VOID(find_version(api, now));
    if (!unwanted_since_) unwanted_since_ = now;
    // Until no policy refuses any more what pods are given without it (PodTerms).
    const bool due = now - *unwanted_since_ >= k_takes_effect;
    if (due) ZOO_TRY_VOID(withdraw(api));
    if (!unreachable_.empty()) {
      publish({}, false, "NotReachable",
              unreachable_ + "; Service default/kubernetes has no endpoints");
    } else {
      publish({}, false, "SwitchedOff",
              "inside.enabled is false: pods are given upstream's own address and token");
    }
    return due ? std::chrono::milliseconds(k_usual) : std::chrono::milliseconds(k_soon);
  }
  InsideState next;
  ZOO_TRY_VOID(find_version(api, now));
  if (version_.empty()) {
    publish({}, false, "UpstreamTooOld",
            "the upstream serves no MutatingAdmissionPolicy (Kubernetes 1.36 does, 1.34 and 1.35 "
            "where v1beta1 is switched on): pods are given upstream's own address and token");
    return k_usual;
  }
  ZOO_TRY(const auto owner, owner_upstream(api));
  if (!owner.empty() && owner != settings_.owner) {
    publish({}, false, "AnotherZood",
            "pods of this upstream's tenants are given another zood's address, as ConfigMap "
            "zoo-system/zoo-inside says");
    return k_usual;
  }
  ZOO_TRY_VOID(keep_door(api, next));
  next.version = version_;
  next.missing_names = parts_.cover ? parts_.cover(next.cluster_ip) : std::vector<std::string>();
  const auto& missing = next.missing_names;
  const bool verified = std::find(missing.begin(), missing.end(), next.cluster_ip) == missing.end();
  next.api_host = verified ? next.cluster_ip : settings_.host;
  next.api_port = verified ? 443 : settings_.port;
  ZOO_TRY_VOID(find_servers(api, next));
  ZOO_TRY_VOID(find_audiences(api, now));
  next.audiences = audiences_;
  ZOO_TRY_VOID(keep(api, inside_params_manifest(settings_, next)));
  const bool was_given = state()->access.given;
  if (!was_given && parts_.spaces_are_furnished && !parts_.spaces_are_furnished()) {
    publish(std::move(next), false, "Waiting",
            "not every namespace of tenants has ConfigMap zoo-root-ca.crt yet");
    return k_soon;
  }
  ZOO_TRY(const bool written, install(api, next));
  if (!next.trouble.empty()) {
    auto message = next.trouble;
    publish(std::move(next), false, "NotInstalled", std::move(message));
    return k_usual;
  }
  if (written && !was_given) installed_at_ = now;
  if (!was_given && installed_at_ && now - *installed_at_ < k_takes_effect) {
    publish(std::move(next), false, "Waiting", "the upstream is about to go by zood's policy");
    return k_soon;
  }
  auto message = fmt::format("pods find zood at {}, port {}{}", next.api_host, next.api_port,
                             next.dns_servers.empty()
                                 ? "; their names are upstream's: there is no Service "
                                   "kube-system/kube-dns, and inside.dns_servers is not set"
                                 : "");
  publish(std::move(next), true, "Published", std::move(message));
  return k_usual;
}

} // namespace zoo::tenants
