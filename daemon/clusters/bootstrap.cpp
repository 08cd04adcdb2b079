// SPDX-License-Identifier: Apache-2.0
// What a cluster's API server is told before anybody uses it, and again whenever it is not so.
#include "daemon/clusters/controller.hpp"

namespace zoo::clusters {

using nlohmann::json;

Result<void> Controller::bootstrap(kube::KubeClient& api, const Record& record) {
  const std::string account = "/api/v1/namespaces/default/serviceaccounts";
  if (const auto there = api.get(account + "/default"); !there) {
    if (there.error().code() != Code::not_found) return fail(there.error());
    const auto made = api.create(
        account,
        {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
    if (!made && made.error().code() != Code::already_exists) return fail(made.error());
  }
  return bind_administrators(api, record);
}

/// Of the record as it is behind the read of the binding: a look that began before the credentials
/// were revoked must not bind what was taken back.
Result<void> Controller::bind_administrators(kube::KubeClient& api, const Record& record) {
  constexpr int k_tries = 5;
  const std::string bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const auto path = bindings + "/zoo:cluster-admins";
  json wanted = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                 {"kind", "ClusterRoleBinding"},
                 {"metadata", {{"name", "zoo:cluster-admins"}}},
                 {"roleRef",
                  {{"apiGroup", "rbac.authorization.k8s.io"},
                   {"kind", "ClusterRole"},
                   {"name", "cluster-admin"}}}};
  for (int tries = 1;; ++tries) {
    auto there = api.get(path);
    if (!there && there.error().code() != Code::not_found) return fail(there.error());
    ZOO_TRY(const auto now, read_record(parts_.store, record.key()));
    if (now.uid() != record.uid()) return fail(Code::conflict, "it is another cluster by now");
    wanted["subjects"] =
        json::array({{{"apiGroup", "rbac.authorization.k8s.io"},
                      {"kind", "Group"},
                      {"name", administrators_group(now.place.epoch, now.place.mark)}}});
    if (there && there->value("roleRef", json()) != wanted["roleRef"]) {
      // It cannot be changed: somebody has put another binding under this name.
      ZOO_TRY_VOID(api.remove(path));
      there = fail(Code::not_found, "removed");
    }
    if (there && there->value("subjects", json()) == wanted["subjects"]) return {};
    if (there) (*there)["subjects"] = wanted["subjects"];
    const auto done = there ? api.update(path, *there) : api.create(bindings, wanted);
    if (done) return {};
    const auto code = done.error().code();
    const bool again = code == Code::conflict || code == Code::already_exists;
    if (!again || tries == k_tries) return fail(done.error());
  }
}

} // namespace zoo::clusters
