// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/http_client/client.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How everything that accounts need upstream is taken away again: by zooctl itself, so that it
/// works where zood is dead.
namespace zoo::kiosk {

struct Object {
  std::string_view kind, name, path;
};

/// What zood installs for accounts, in the order in which it is to be removed: first what upstream
/// calls zood through, since a dead zood behind it holds up the cluster; the kinds behind the
/// policies that guard them; zood's own rights last.
std::span<const Object> removal_order();

/// Is this object zood's? By label zoo.kubezoo.io/managed, or app.kubernetes.io/managed-by.
bool is_zoods(const nlohmann::json& object);

/// One request to the upstream; an HTTP status is no error.
using Ask =
    std::function<Result<http_client::Response>(std::string_view method, std::string_view path,
                                                std::string_view content_type, std::string body)>;

struct RemovalWish {
  bool force = false;   ///< though Accounts are lost by it
  bool dry_run = false; ///< look, and change nothing
};

struct Removal {
  std::vector<std::string> removed;     ///< "ClusterRole kiosk-edit"
  std::vector<std::string> left;        ///< objects of such names that are not zood's: they stay
  std::size_t accounts = 0, spaces = 0; ///< that were there
};

/// {"removed", "left", "accounts", "spaces"}
nlohmann::json to_json(const Removal& removal);

/// Removes all of it, the RoleBindings of members and every Account among them; namespaces stay,
/// with their labels. What is not there is no error, so that it can be called again where it broke
/// off. Blocks until the definitions are gone. Errors: Code::conflict, Accounts would be lost and
/// `force` is not said; Code::timeout, something holds a definition; else the upstream's.
Result<Removal> remove_accounts(const Ask& ask, const RemovalWish& wish,
                                const std::function<void(std::chrono::milliseconds)>& pause);

} // namespace zoo::kiosk
