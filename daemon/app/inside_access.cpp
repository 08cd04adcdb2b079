// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/inside_access.hpp"

#include "common/api/dns_rules.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/app/door_certificates.hpp"
#include "daemon/net/address.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/inside_manifests.hpp"
#include "daemon/upstream/upstream.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace zoo::app {
namespace {

constexpr std::size_t k_most_servers = 3; ///< that a pod's dnsConfig takes
constexpr std::string_view k_zood_service = "/api/v1/namespaces/zoo-system/services/zood";
constexpr std::string_view k_registration_group = "/apis/admissionregistration.k8s.io/";

/// The same for every zood of one directory, and no other's.
std::string owner_of(const tenants::Pki& pki) {
  return crypto::hex_encode({reinterpret_cast<const char*>(pki.ca().sha256().data()), 8});
}

tenants::InsideSettings settings_of(const InsideAccess::Parts& parts) {
  tenants::InsideSettings out;
  out.enabled = parts.values.boolean("inside.enabled");
  out.host = parts.advertised.host;
  out.port = parts.advertised.port;
  out.domain = parts.values.string("inside.domain");
  out.dns_servers = parts.values.list("inside.dns_servers");
  out.owner = owner_of(parts.pki);
  return out;
}

} // namespace

std::vector<std::string> hosts_inside(const config::Values& values,
                                      const upstream::Credential& credential) {
  auto out = tenants::names_inside(values.string("inside.domain"));
  const auto api = credential.api();
  if (const auto service = api->get(k_zood_service)) {
    auto address = service->value("/spec/clusterIP"_json_pointer, std::string());
    if (net::is_ip_address(address)) out.push_back(std::move(address));
  }
  return out;
}

Result<void> check_inside(const config::Values& values) {
  const auto domain = values.string("inside.domain");
  if (!api::is_cluster_domain(domain)) {
    return fail(Code::usage,
                "inside.domain: '{}' is no name of a domain: it is the cluster's, as cluster.local",
                domain);
  }
  const auto servers = values.list("inside.dns_servers");
  if (servers.size() > k_most_servers)
    return fail(Code::usage, "inside.dns_servers: a pod takes {} at most, not {}", k_most_servers,
                servers.size());
  for (const auto& server : servers) {
    if (!net::is_ip_address(server))
      return fail(Code::usage, "inside.dns_servers: '{}' is no IP address", server);
  }
  return {};
}

InsideAccess::InsideAccess(Parts parts)
    : parts_(std::move(parts)),
      keeper_([this] { return parts_.credential.api(); }, settings_of(parts_),
              {[this](const std::string& address) {
                 auto hosts = tenants::names_inside(parts_.values.string("inside.domain"));
                 hosts.push_back(address);
                 return parts_.certificates.cover(hosts);
               },
               parts_.spaces_are_furnished},
              [this](const tenants::InsideState& state) { heard(state); }) {
  const auto& settings = keeper_.settings();
  if (!settings.enabled || !tenants::why_not_an_endpoint(settings.host).empty()) return;
  follow("/api/v1/namespaces/zoo-system/services", "zood");
  follow("/apis/discovery.k8s.io/v1/namespaces/zoo-system/endpointslices", "zood");
  follow("/api/v1/namespaces/zoo-system/configmaps", upstream::k_inside_params);
  follow("/api/v1/namespaces/kube-system/services", "kube-dns");
}

/// A kind that upstream does not serve is not followed.
void InsideAccess::heard(const tenants::InsideState& state) {
  if (!state.version.empty() && followed_version_.empty()) {
    followed_version_ = state.version;
    for (const auto* kind : {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"})
      follow(fmt::format("{}{}/{}", k_registration_group, state.version, kind),
             upstream::k_inside_policy);
  }
  parts_.changed(state.access.given);
}

/// A change of an object of that name.
void InsideAccess::follow(std::string path, std::string_view name) {
  parts_.loop.post([this, path = std::move(path), name] {
    const auto changed = [this, name](translate::EventType, const translate::ObjectKey& key,
                                      std::string_view) {
      if (key.name == name) keeper_.touch();
    };
    followers_.push_back(std::make_unique<upstream::ChangeFollower>(
        parts_.upstream, parts_.loop, parts_.upstream.caller(parts_.loop), path,
        fmt::format("metadata.name={}", name), upstream::ChangeFollower::Hears{changed, [] {}}));
    followers_.back()->start();
  });
}

std::string InsideAccess::audiences() const {
  const auto state = keeper_.state();
  return state->access.given ? state->audiences : std::string();
}

} // namespace zoo::app
