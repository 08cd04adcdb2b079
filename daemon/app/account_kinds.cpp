// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_kinds.hpp"

#include "common/kiosk/removal.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"

#include <nlohmann/json.hpp>

#include <thread>

namespace zoo::app {

Result<void> install_account_kinds(const upstream::Credential& credential,
                                   const config::Values& values) {
  if (!values.boolean("accounts.enabled")) return {};
  const auto api = credential.api();
  const auto states = upstream::install_accounts(*api, values.boolean("accounts.self_service"));
  if (!states)
    return fail(Error(states.error()).context("while installing what accounts need upstream"));
  return {};
}

std::vector<tenants::Finding> account_findings(const upstream::Credential& credential,
                                               const config::Values& values) {
  using Level = tenants::Finding::Level;
  std::vector<tenants::Finding> out;
  if (!values.boolean("accounts.enabled")) return out;
  const auto api = credential.api();
  const auto states = upstream::examine_accounts(*api, values.boolean("accounts.self_service"));
  std::size_t equal = 0;
  for (const auto& state : states) {
    if (state.state == upstream::ObjectState::State::equal) {
      ++equal;
      continue;
    }
    const bool fence = state.manifest->need == upstream::Need::fence;
    out.push_back(
        {fence ? Level::problem : Level::warning, state.manifest->title(), state.message,
         "restart zood, or, as an administrator of the upstream: zood "
         "--print-upstream-accounts | kubectl apply --server-side --force-conflicts -f -"});
  }
  out.push_back({Level::ok, "accounts upstream",
                 fmt::format("{} of {} objects are as zood needs them", equal, states.size()), ""});
  return out;
}

Result<nlohmann::json> uninstall_account_kinds(const upstream::Credential& credential,
                                               const config::Values& values, bool force,
                                               bool dry_run) {
  if (values.boolean("accounts.enabled") && !dry_run)
    return fail(Code::conflict,
                "accounts.enabled is true: set it to false in zood.yaml and restart "
                "zood first, or it would install everything again");
  const auto api = credential.api();
  const kiosk::Ask ask = [&](std::string_view method, std::string_view path,
                             std::string_view content_type, std::string body) {
    return api->request(method, path, content_type, std::move(body), "application/json");
  };
  ZOO_TRY(const auto done, kiosk::remove_accounts(ask, {force, dry_run}, [](auto span) {
            std::this_thread::sleep_for(span);
          }));
  return kiosk::to_json(done);
}

} // namespace zoo::app
