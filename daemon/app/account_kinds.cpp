// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_kinds.hpp"

#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"

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

} // namespace zoo::app
