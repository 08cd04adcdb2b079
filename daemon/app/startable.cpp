// SPDX-License-Identifier: Apache-2.0
#include "common/kube/kubeconfig.hpp"
#include "daemon/app/address.hpp"
#include "daemon/app/inside_access.hpp"
#include "daemon/app/settings.hpp"
#include "daemon/app/zood.hpp"
#include "daemon/net/address.hpp"

namespace zoo::app {
namespace {

/// What kubeconfigs name must be somewhere to connect to.
Result<void> check_advertised(const config::Values& values) {
  const auto& given = values.string("advertise");
  const auto& text = given.empty() ? values.string("listen") : given;
  ZOO_TRY(const auto address, parse_address(text));
  if (unspecified(address))
    return fail(Code::usage,
                "{}: '{}' stands for every address of this machine, and tenants' kubeconfigs need "
                "one that leads here: set advertise (--advertise) to HOST:PORT, as "
                "zood.example.com:7443",
                given.empty() ? "listen" : "advertise", text);
  const auto& door = values.string("accounts.listen");
  if (!values.boolean("accounts.enabled") || door.empty()) return {};
  const auto& said = values.string("accounts.advertise");
  const auto& shown = said.empty() ? door : said;
  ZOO_TRY(const auto of_door, parse_address(shown));
  if (!unspecified(of_door)) return {};
  return fail(Code::usage,
              "{}: '{}' stands for every address of this machine, and the account door's "
              "certificate and its users need one that leads here: set accounts.advertise to "
              "HOST:PORT, as zood.example.com:8443",
              said.empty() ? "accounts.listen" : "accounts.advertise", shown);
}

/// Requests of tenants go on connections that always verify the upstream.
Result<void> check_verifiable(const kube::ClusterAccess& access) {
  ZOO_TRY_VOID(parse_server_url(access.server));
  if (!access.credentials.insecure) return {};
  return fail(Code::invalid,
              "cluster '{}' has insecure-skip-tls-verify, and zood speaks to no upstream that it "
              "cannot verify: put the authority of {} into certificate-authority-data instead, and "
              "tls-server-name if its certificate has another name",
              access.cluster, access.server);
}

} // namespace

Result<kube::ClusterAccess> check_startable(const config::Values& values) {
  const auto kubeconfig = values.path("upstream.kubeconfig");
  if (kubeconfig.empty()) {
    return fail(Code::usage, "no upstream is named: give --upstream KUBECONFIG, or set "
                             "upstream.kubeconfig in the configuration file");
  }
  for (const auto* key : {"listen", "admin.listen", "accounts.listen", "accounts.aggregated.listen",
                          "relay.listen", "health.listen"}) {
    const auto text = values.string(key);
    if (text.empty()) continue;
    if (auto address = net::parse_listen_address(text); !address)
      return fail(std::move(address).error().context("{}", key));
  }
  ZOO_TRY_VOID(check_advertised(values));
  ZOO_TRY_VOID(check_inside(values));
  ZOO_TRY_VOID(check_networks(values));
  ZOO_TRY_VOID(check_clusters(values));
  ZOO_TRY(auto access, kube::load_kubeconfig(kubeconfig));
  if (auto verifiable = check_verifiable(access); !verifiable)
    return fail(std::move(verifiable).error().context("in {}", kubeconfig.string()));
  return access;
}

} // namespace zoo::app
