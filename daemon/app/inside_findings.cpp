// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/dns_probe.hpp"
#include "daemon/app/inside_access.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/inside_manifests.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::app {
namespace {

using nlohmann::json;
using Level = tenants::Finding::Level;
using Findings = std::vector<tenants::Finding>;

constexpr std::string_view k_subject = "inside pods", k_names = "names inside pods";
constexpr std::size_t k_asked_tenants = 20; ///< for one whose pods no webhook is called for
constexpr std::chrono::seconds k_dns_wait{2};

/// A namespace of a tenant that is given all of it, by choice of one without webhooks, which would
/// be called; "": there is none.
std::string probe_namespace(const tenants::TenantDirectory& directory, store::Store& store) {
  std::vector<std::string> ids;
  directory.snapshot()->each([&](const tenants::TenantEntry& entry) {
    if (ids.size() < k_asked_tenants && entry.settled && entry.phase == tenants::Phase::ready &&
        entry.inside == api::Inside{})
      ids.push_back(entry.id);
  });
  if (ids.empty()) return {};
  const auto quiet = std::find_if(ids.begin(), ids.end(), [&](const std::string& id) {
    const auto tenant = tenants::read_tenant(store, id);
    return tenant && !tenant->had_webhooks;
  });
  return (quiet == ids.end() ? ids.front() : *quiet) + "-kube-system";
}

json probe_pod() {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"generateName", "zood-doctor-"}}},
          {"spec", {{"containers", json::array({{{"name", "main"}, {"image", "none"}}})}}}};
}

/// What of a pod is not as the policy makes it; "": all is.
std::string fault_of(const json& pod, const tenants::InsideState& state) {
  const auto spec = pod.value("spec", json::object());
  for (const auto& container : spec.value("containers", json::array())) {
    const auto environment = container.value("env", json::array());
    const bool there = std::any_of(environment.begin(), environment.end(), [&](const json& each) {
      return each.value("name", "") == "KUBERNETES_SERVICE_HOST" &&
             each.value("value", "") == state.api_host;
    });
    if (!there) return fmt::format("KUBERNETES_SERVICE_HOST is not {}", state.api_host);
  }
  bool token = false;
  for (const auto& volume : spec.value("volumes", json::array())) {
    for (const auto& source : volume.value("/projected/sources"_json_pointer, json::array())) {
      if (!source.contains("serviceAccountToken")) continue;
      token = true;
      const auto audience = source["serviceAccountToken"].value("audience", "");
      if (audience != "zood") return fmt::format("its token is for '{}', not for zood", audience);
    }
  }
  if (!token) return "it has no token";
  const auto searches = spec.value("/dnsConfig/searches"_json_pointer, json::array());
  const bool searched = std::any_of(searches.begin(), searches.end(), [](const json& each) {
    return each.is_string() && each.get<std::string>().find(".zoo.") != std::string::npos;
  });
  if (!state.dns_servers.empty() && !searched) return "it does not search the tenant's names";
  return {};
}

void examine_objects(upstream::ControlApi& api, const tenants::InsideKeeper& keeper,
                     const tenants::InsideState& state, Findings& out) {
  auto wanted = upstream::inside_manifests(state.version);
  const auto& settings = keeper.settings();
  for (const auto& object : {tenants::door_service_manifest(settings.port),
                             tenants::door_slice_manifest(settings.host, settings.port),
                             tenants::inside_params_manifest(settings, state)})
    wanted.push_back(
        upstream::manifest_of(upstream::Need::identity, wanted.front().printed_by, object.dump()));
  std::size_t equal = 0;
  for (const auto& each : upstream::examine(api, wanted)) {
    if (each.state == upstream::ObjectState::State::equal) {
      ++equal;
      continue;
    }
    out.push_back({Level::problem, each.manifest->title(), each.message,
                   "wait: zood puts it back within seconds; if it does not, its log says why"});
  }
  out.push_back(
      {Level::ok, std::string(k_subject),
       fmt::format("{} of {} objects upstream are as zood needs them", equal, wanted.size()), ""});
}

/// A pod that is not stored shows what becomes of one.
void try_pod(upstream::ControlApi& api, const std::string& space, const tenants::InsideState& state,
             Findings& out) {
  const auto made =
      api.create(fmt::format("/api/v1/namespaces/{}/pods?dryRun=All", space), probe_pod());
  if (!made) {
    out.push_back(
        {Level::warning, std::string(k_subject),
         fmt::format("no pod can be tried in namespace {}: {}", space, made.error().text()),
         "if it is the tenant's quota or webhook that refuses it, this says nothing of "
         "zood"});
    return;
  }
  const auto fault = fault_of(*made, state);
  if (fault.empty()) {
    out.push_back({Level::ok, std::string(k_subject),
                   fmt::format("a pod in namespace {} would find zood", space), ""});
    return;
  }
  out.push_back(
      {Level::problem, std::string(k_subject),
       fmt::format("a pod in namespace {} would not be given what it needs: {}", space, fault),
       "does another policy or webhook of the platform change pods behind zood's? If not, "
       "restart kube-apiserver: it may have stopped hearing of zoo-system/zoo-inside"});
}

void ask_names(const tenants::InsideSettings& settings, const tenants::InsideState& state,
               Findings& out) {
  const auto& domain = settings.domain;
  const std::string subject(k_names);
  const auto server = state.dns_servers.substr(0, state.dns_servers.find(' '));
  // Of any tenant: the rule goes by the form of an ID.
  const auto name = fmt::format("kubernetes.default.svc.{0}.zoosys.zoo.{0}", domain);
  const bool v6 = state.cluster_ip.find(':') != std::string::npos;
  const auto answer = ask_dns(server, name, v6, k_dns_wait);
  const auto remedy = fmt::format(
      "add what `zooctl dns corefile --domain {}` prints to the cluster's CoreDNS", domain);
  switch (answer.kind) {
  case DnsAnswer::Kind::address:
    if (answer.text == state.cluster_ip) {
      out.push_back({Level::ok, subject, fmt::format("the rules are in force at {}", server), ""});
    } else {
      out.push_back({Level::warning, subject,
                     fmt::format("{} says that {} is at {}, not at {}", server, name, answer.text,
                                 state.cluster_ip),
                     remedy});
    }
    return;
  case DnsAnswer::Kind::no_such_name:
    out.push_back({Level::warning, subject,
                   fmt::format("the rules are not in force at {}: pods find none of their tenant's "
                               "Services by name",
                               server),
                   remedy});
    return;
  case DnsAnswer::Kind::refused:
    out.push_back(
        {Level::warning, subject,
         fmt::format("whether the rules are in force at {} is not known: {}", server, answer.text),
         remedy});
    return;
  case DnsAnswer::Kind::none: // a bastion need not reach the cluster's addresses
    out.push_back({Level::ok, subject,
                   fmt::format("{} is not reachable from here ({}): whether the rules are in force "
                               "is not known; `zooctl dns corefile` prints them",
                               server, answer.text),
                   ""});
    return;
  }
}

} // namespace

std::vector<tenants::Finding> InsideAccess::findings() const {
  Findings out;
  const auto state = keeper_.state();
  const auto& access = state->access;
  const bool wanted = access.reason != "NotReachable" && access.reason != "SwitchedOff";
  if (!access.given) {
    out.push_back(
        {wanted ? Level::warning : Level::ok, std::string(k_subject), access.message,
         !wanted                             ? ""
         : access.reason == "UpstreamTooOld" ? "upgrade the upstream, or set "
                                               "inside.enabled to false"
         : access.reason == "AnotherZood"
             ? "set inside.enabled to false; or, where that zood is gone for good, remove "
               "ConfigMap zoo-system/zoo-inside: this one takes its place"
             : "wait; zood's log has more"});
    return out;
  }
  const auto api = parts_.credential.api();
  examine_objects(*api, keeper_, *state, out);
  if (!state->missing_names.empty()) {
    out.push_back(
        {Level::warning, std::string(k_subject),
         fmt::format("tls.certificate is not good for {}; pods are given {}, port {}",
                     fmt::join(state->missing_names, ", "), state->api_host, state->api_port),
         "give it these names, or leave tls.certificate out: zood makes one that has "
         "them"});
  }
  if (const auto space = probe_namespace(parts_.directory, parts_.store); !space.empty())
    try_pod(*api, space, *state, out);
  if (state->dns_servers.empty()) {
    out.push_back({Level::warning, std::string(k_names),
                   "there is no Service kube-system/kube-dns: pods find none of their tenant's "
                   "Services by name",
                   "set inside.dns_servers to the addresses of the cluster's DNS servers"});
  } else {
    ask_names(keeper_.settings(), *state, out);
  }
  return out;
}

} // namespace zoo::app
