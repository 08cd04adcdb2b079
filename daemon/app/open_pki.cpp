// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/open_pki.hpp"

#include "daemon/app/address.hpp"
#include "daemon/app/inside_access.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/tenants/shared_authorities.hpp"

#include <utility>

namespace zoo::app {

Result<std::unique_ptr<tenants::Pki>> open_pki(const config::Values& values,
                                               const upstream::Credential& credential,
                                               store::Store& store, store::Keyring& keyring) {
  tenants::PkiOptions options;
  options.directory = values.path("dir");
  options.ca_certificate = values.path("pki.ca_certificate");
  options.ca_key = values.path("pki.ca_key");
  for (const auto* key :
       {"listen", "advertise", "admin.listen", "accounts.listen", "accounts.advertise"}) {
    if (values.string(key).empty()) continue;
    ZOO_TRY(const auto address, parse_address(values.string(key)));
    options.hosts.push_back(address.host);
  }
  for (auto& host : hosts_inside(values, credential))
    options.hosts.push_back(std::move(host));
  ZOO_TRY(const auto first, store.list(tenants::k_tenant_kind, {}, {}, 1));
  options.has_tenants = !first.records.empty();
  if (values.string("store.driver") == "etcd") {
    ZOO_TRY(auto key, keyring.key(tenants::SharedAuthorities::k_purpose));
    const crypto::Sealer sealer(std::move(key));
    tenants::SharedAuthorities shared(store, sealer, options.directory,
                                      options.ca_certificate.empty());
    ZOO_TRY_VOID(shared.take());
    ZOO_TRY(auto made, tenants::Pki::open(options));
    ZOO_TRY(const bool ours, shared.give());
    if (ours) return made;
  }
  return tenants::Pki::open(std::move(options));
}

} // namespace zoo::app
