// SPDX-License-Identifier: Apache-2.0
// What a cluster's API server is told before anybody uses it, and again whenever it is not so.
#include "daemon/clusters/controller.hpp"

namespace zoo::clusters {

Result<void> Controller::bootstrap(kube::KubeClient& api, const Record& record) {
  const std::string account = "/api/v1/namespaces/default/serviceaccounts";
  if (const auto there = api.get(account + "/default"); !there) {
    if (there.error().code() != Code::not_found) return fail(there.error());
    const auto made = api.create(
        account,
        {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", "default"}}}});
    if (!made && made.error().code() != Code::already_exists) return fail(made.error());
  }
  const std::string bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const nlohmann::json wanted = {
      {"apiVersion", "rbac.authorization.k8s.io/v1"},
      {"kind", "ClusterRoleBinding"},
      {"metadata", {{"name", "zoo:cluster-admins"}}},
      {"roleRef",
       {{"apiGroup", "rbac.authorization.k8s.io"},
        {"kind", "ClusterRole"},
        {"name", "cluster-admin"}}},
      {"subjects", nlohmann::json::array(
                       {{{"apiGroup", "rbac.authorization.k8s.io"},
                         {"kind", "Group"},
                         {"name", administrators_group(record.place.epoch, record.place.mark)}}})}};
  auto there = api.get(bindings + "/zoo:cluster-admins");
  if (there && there->value("roleRef", nlohmann::json()) != wanted["roleRef"]) {
    // It cannot be changed: somebody has put another binding under this name.
    ZOO_TRY_VOID(api.remove(bindings + "/zoo:cluster-admins"));
    there = fail(Code::not_found, "removed");
  }
  if (!there && there.error().code() == Code::not_found) {
    const auto made = api.create(bindings, wanted);
    if (!made && made.error().code() != Code::already_exists) return fail(made.error());
    return {};
  }
  if (!there) return fail(there.error());
  if (there->value("subjects", nlohmann::json()) == wanted["subjects"]) return {};
  auto next = *std::move(there);
  next["subjects"] = wanted["subjects"];
  ZOO_TRY_VOID(api.update(bindings + "/zoo:cluster-admins", next));
  return {};
}

} // namespace zoo::clusters
