// SPDX-License-Identifier: Apache-2.0
#include "common/kiosk/removal.hpp"
#include "daemon/upstream/accounts_manifests.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace zoo::upstream {
namespace {

using State = ObjectState::State;

constexpr std::chrono::seconds k_takes_effect{20}; ///< of what was installed just now
constexpr std::string_view k_own_role = "zoo:zood-accounts";
constexpr std::string_view k_definition = "CustomResourceDefinition";

/// An installed kiosk has this webhook, and a controller that would write the same objects. A mere
/// APIService of its group, which may have been left behind, is in nobody's way but the aggregated
/// door's, which leaves it alone and says so.
Result<void> refuse_kiosk(ControlApi& api) {
  const auto there =
      api.get("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kiosk");
  if (!there && there.error().code() != Code::not_found)
    return fail(Error(there.error()).context("while looking for an installed kiosk"));
  if (!there || kiosk::is_zoods(*there)) return {};
  return fail(Code::conflict,
              "ValidatingWebhookConfiguration kiosk upstream is not zood's: kiosk, or another "
              "program, serves its kinds in this cluster. Remove that first, or set "
              "accounts.enabled to false");
}

/// Until `holds`, which takes its effect upstream a moment after the object was written.
Result<void> wait(const std::function<Result<bool>()>& holds, const std::string& what) {
  const auto deadline = std::chrono::steady_clock::now() + k_takes_effect;
  for (;;) {
    ZOO_TRY(const auto good, holds());
    if (good) return {};
    if (std::chrono::steady_clock::now() > deadline)
      return fail(Code::unavailable, "{}, though it was installed {} s ago", what,
                  k_takes_effect.count());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Result<bool> may(ControlApi& api, nlohmann::json attributes) {
  ZOO_TRY(const auto answer,
          api.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                     {{"apiVersion", "authorization.k8s.io/v1"},
                      {"kind", "SelfSubjectAccessReview"},
                      {"spec", {{"resourceAttributes", std::move(attributes)}}}}));
  return answer.value("/status/allowed"_json_pointer, false);
}

/// Of a definition; its names may be taken by another one of the group.
Result<bool> is_served(ControlApi& api, const Manifest& definition) {
  ZOO_TRY(const auto object, api.get(definition.path));
  for (const auto& condition :
       object.value("/status/conditions"_json_pointer, nlohmann::json::array())) {
    const auto type = condition.value("type", "");
    const auto status = condition.value("status", "");
    if (type == "NamesAccepted" && status == "False")
      return fail(Code::conflict, "the upstream does not serve {}: {}", definition.title(),
                  condition.value("message", ""));
    if (type == "Established" && status == "True") return true;
  }
  return false;
}

} // namespace

Result<std::vector<ObjectState>> install_accounts(ControlApi& api, bool self_service) {
  ZOO_TRY_VOID(refuse_kiosk(api));
  const auto& all = account_manifests(self_service);
  // The right to bind zood's second role came with zoo:zood, maybe a moment ago. If it does not
  // come, the bootstrap says so better.
  const auto binding = std::find_if(all.begin(), all.end(), [](const Manifest& each) {
    return each.kind == "ClusterRoleBinding" && each.name == k_own_role;
  });
  if (binding != all.end() && !api.get(binding->path))
    (void)wait(
        [&] {
          return may(api, {{"verb", "bind"},
                           {"group", "rbac.authorization.k8s.io"},
                           {"resource", "clusterroles"},
                           {"name", k_own_role}});
        },
        "");
  ZOO_TRY(auto out, bootstrap(api, true, all));
  if (!self_service) ZOO_TRY_VOID(api.remove(self_service_manifest().path));
  ZOO_TRY_VOID(wait(
      [&] {
        return may(api, {{"verb", "impersonate"},
                         {"group", "authentication.k8s.io"},
                         {"resource", "userextras"},
                         {"subresource", "zoo-impersonator"}});
      },
      "the upstream does not give zood the rights of ClusterRole zoo:zood-accounts"));
  for (const auto& state : out) {
    if (state.state != State::equal || state.manifest->kind != k_definition) continue;
    ZOO_TRY_VOID(wait([&, &manifest = *state.manifest] { return is_served(api, manifest); },
                      fmt::format("the upstream does not serve {}", state.manifest->title())));
  }
  return out;
}

std::vector<ObjectState> examine_accounts(ControlApi& api, bool self_service) {
  auto out = examine(api, account_manifests(self_service));
  if (!self_service && api.get(self_service_manifest().path))
    out.push_back({State::different, &self_service_manifest(),
                   "it is there, though accounts.self_service is false"});
  return out;
}

} // namespace zoo::upstream
