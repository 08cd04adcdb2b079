// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/upstream/upstream_rbac.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zoo::crypto {
class Certificate;
class PrivateKey;
} // namespace zoo::crypto

namespace zoo::upstream {

class ControlApi;

/// One object of the table as it is upstream.
struct ObjectState {
  enum class State { equal, missing, different, unreadable } state = State::equal;
  const Manifest* manifest = nullptr;
  std::string message; ///< what differs, or why it cannot be read; "" if equal
};

/// Compares without writing, for doctor. What the server adds to an object is no difference.
std::vector<ObjectState> examine(ControlApi& api,
                                 const std::vector<Manifest>& all = upstream_manifests());

/// Installs what is missing or differs, by server-side apply; what is equal is left alone, so that
/// it can run any number of times and go on where it broke off. With an administrator's access any
/// failure is an Error that names the object, the right that is lacking and what to do. With
/// zood's own (`own`), what cannot be repaired is an Error only for the fences; the rest is
/// returned, for the log and for doctor.
Result<std::vector<ObjectState>> bootstrap(ControlApi& api, bool own,
                                           const std::vector<Manifest>& all = upstream_manifests());

/// Installs what accounts need (accounts_manifests.hpp) with zood's own access, and waits until the
/// kinds are served and zood has its rights. ClusterRoleBinding zoo:accounts-self-service is there
/// afterwards if `self_service`, else it is not. Older objects of zood and older definitions of
/// kiosk's are brought up to date. Code::conflict: another program serves kiosk's kinds in this
/// cluster.
Result<std::vector<ObjectState>> install_accounts(ControlApi& api, bool self_service);
/// The same for doctor, without writing.
std::vector<ObjectState> examine_accounts(ControlApi& api, bool self_service);

/// Refuses an authority for tenants' certificates that the upstream itself trusts for clients or
/// for its front proxy (ConfigMap kube-system/extension-apiserver-authentication), or that was
/// issued by one: a tenant's certificate would be a login upstream. Code::invalid.
Result<void> refuse_trusted_ca(ControlApi& api, const crypto::Certificate& ca,
                               const crypto::PrivateKey& ca_key);

/// Is all of `wanted` in `actual`? Objects may have more members, arrays may not; an absent member
/// equals null, false and an empty list. `where` gets the JSON pointer of the first difference.
bool covers(const nlohmann::json& actual, const nlohmann::json& wanted, std::string& where);

} // namespace zoo::upstream
