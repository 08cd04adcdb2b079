// SPDX-License-Identifier: Apache-2.0
#include "common/base/log.hpp"
#include "common/kube/client.hpp"
#include "daemon/accounts/account_status.hpp"
#include "daemon/accounts/controller.hpp"
#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/reservations.hpp"
#include "daemon/accounts/state.hpp"
#include "daemon/upstream/control_api.hpp"

#include <utility>

// What becomes of the spaces of an Account that is deleted.
namespace zoo::accounts {
namespace {

using nlohmann::json;

constexpr std::string_view k_definition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/accounts.config.kiosk.sh";

/// "" for a tenant's namespace and for the system's, whatever their labels say.
std::string owner_of(const json& live) {
  const auto space = read_space(text_of(live));
  return space ? space->account : std::string();
}

} // namespace

/// The Accounts go because their kind does: nobody has deleted one of them.
Result<bool> Controller::kind_goes(upstream::ControlApi& api) const {
  const auto definition = api.get(k_definition);
  if (!definition) return fail(definition.error());
  return !text_at(*definition, "/metadata/deletionTimestamp").empty();
}

/// The space is nobody's from now on. Access goes first, so that whoever goes on after a zood that
/// ended in between still finds the namespace by its label.
Result<void> Controller::let_go(upstream::ControlApi& api, const std::string& space,
                                const Account& account) {
  const auto live = api.get(namespace_path(space));
  if (!live && live.error().code() == Code::not_found) return {};
  if (!live) return fail(live.error());
  if (owner_of(*live) != account.name) return {};
  const auto uid = text_at(*live, "/metadata/uid");
  // Of one that is half made nobody has anything yet.
  if (SpaceRequest::read(annotation_of(*live, k_space_request)))
    return api.remove_read(namespace_path(space), uid);
  ZOO_TRY(auto bindings, bindings_in(api, space));
  ZOO_TRY_VOID(put_bindings_right(api, space, std::move(bindings[space]), {}));
  const auto done = api.merge_patch(
      namespace_path(space),
      {{"metadata",
        {{"uid", uid},
         {"resourceVersion", text_at(*live, "/metadata/resourceVersion")},
         {"labels", {{k_account_label, nullptr}}},
         {"annotations", {{k_account_label, nullptr}, {k_orphaned_from, account.name}}}}}});
  if (!done && done.error().code() != Code::not_found) return fail(done.error());
  return {};
}

Result<void> Controller::wait_for(upstream::ControlApi& api, const Account& account,
                                  const std::set<std::string>& spaces) {
  const auto names = counted(spaces.size(), "space", {spaces.begin(), spaces.end()});
  Found result;
  result.spaces = spaces;
  result.now = parts_.now();
  result.deadline = parts_.deadline.count();
  result.waiting_for = names;
  if (account.deletion == DeletionPolicy::refuse) {
    result.broken =
        fmt::format("account \"{}\" owns {}: delete or transfer them", account.name, names);
  }
  return change_status(api, account.name, [&](json& status, const Account& now) -> Result<bool> {
    return update_status(status, now, result);
  });
}

Result<Controller::Next> Controller::look_at_deleted(upstream::ControlApi& api,
                                                     const Account& account) {
  if (account.object.find(k_finalizer) == std::string::npos) return Next{};
  ZOO_TRY(const bool goes, kind_goes(api));
  if (goes) {
    log::warning(
        "accounts",
        "the kind Account is being deleted upstream: the spaces of account {} stay as they "
        "are, and are its again when it is made again",
        account.name);
    ZOO_TRY_VOID(set_finalizer(api, account, false));
    return Next{};
  }
  ZOO_TRY(const auto spaces, namespaces_of(api, account.name));
  if (account.deletion == DeletionPolicy::orphan) {
    for (const auto& space : spaces)
      ZOO_TRY_VOID(let_go(api, space, account));
    // Those that were half made are gone when their namespaces are.
    ZOO_TRY(const auto left, namespaces_of(api, account.name));
    if (!left.empty()) return Next{settings_.wait, true};
  } else if (!spaces.empty()) {
    ZOO_TRY_VOID(wait_for(api, account, spaces));
    if (account.deletion == DeletionPolicy::refuse) return Next{settings_.resync};
    for (const auto& space : spaces) {
      const auto live = api.get(namespace_path(space));
      if (!live && live.error().code() == Code::not_found) continue;
      if (!live) return fail(live.error());
      if (!text_at(*live, "/metadata/deletionTimestamp").empty() || owner_of(*live) != account.name)
        continue;
      log::info("accounts", "space {} is deleted with its account {}", space, account.name);
      ZOO_TRY_VOID(api.remove_read(namespace_path(space), text_at(*live, "/metadata/uid")));
    }
    return Next{settings_.wait, true};
  }
  ZOO_TRY_VOID(set_finalizer(api, account, false));
  return Next{};
}

} // namespace zoo::accounts
