// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/terms.hpp"
#include "common/base/result.hpp"
#include "daemon/access/view.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class ControlApi;
}

/// What zood keeps in each namespace of a tenant beside RoleBinding zoo-tenant, and hides there
/// (translate/hidden_names.hpp): ConfigMap zoo-root-ca.crt and, where the tenant's network is kept
/// apart, NetworkPolicy zoo-baseline.
namespace zoo::tenants {

/// What they hold, of one tenant.
struct KeptTerms {
  std::string authorities; ///< PEM
  api::Guards guards;      ///< of which those about networks count
};

struct KeptObject {
  std::string collection; ///< upstream's path of it
  nlohmann::json manifest;
};
/// Pure. `upstream_name`: of a namespace, with the prefix of tenant `id`.
std::vector<KeptObject> kept_objects(std::string_view id, std::string_view upstream_name,
                                     const KeptTerms& terms);
/// The same for who has a view: NamespaceTexts::kept_in.
std::vector<access::NewObject> kept_texts(const access::View& view, std::string_view upstream_name);

// Blocking; on the thread whose ControlApi it is.

/// In a namespace that was made just now: one create each. Errors are upstream's.
Result<void> make_kept(upstream::ControlApi& api, std::string_view id,
                       const std::string& upstream_name, const KeptTerms& terms);

/// In all of a tenant's namespaces: what is missing or differs is written, and a NetworkPolicy that
/// is not wanted any more goes. Two range reads where nothing is to be done. One that cannot be
/// written holds up no other; the first error is returned.
Result<void> repair_kept(upstream::ControlApi& api, std::string_view id,
                         const std::vector<std::string>& spaces, const KeptTerms& terms);

/// Has each namespace of a tenant its ConfigMap, whatever it holds? Reads all of both.
Result<bool> all_have_authorities(upstream::ControlApi& api);

/// A kept object that is not as it should be.
struct KeptFault {
  std::string title; ///< "config map zoo-root-ca.crt in namespace foofoo-team"
  std::string what;  ///< "missing", "different at /data/ca.crt", "not wanted"
  std::string id;    ///< whose namespace it is
};
/// For doctor: at most fifty, of these namespaces, with whose they are. `terms_of`: of a tenant.
Result<std::vector<KeptFault>>
kept_faults(upstream::ControlApi& api, const std::map<std::string, std::string>& spaces,
            const std::function<KeptTerms(const std::string& id)>& terms_of);

} // namespace zoo::tenants
