// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/http/message.hpp"
#include "daemon/translate/query.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace zoo::gateway {

class Exchange;
struct Identity;

/// Whose rights a request upstream is made with (DESIGN 8).
enum class Actor {
  tenant, ///< impersonates `zoo:<id>`: namespaced paths and what the upstream policy fences
  /// The same with its rights in namespaces that have no RoleBinding: those that are not there, or
  /// are going. Upstream's policies hold it as they hold the tenant.
  tenant_anywhere,
  zood, ///< zood itself: range lists, watches, reads of cluster-scoped objects, inert writes
};

/// The head of a request upstream on behalf of `exchange`: the headers of its client that may pass,
/// and the impersonation that `actor` asks for. `path` is in upstream's names, with its query.
http::RequestHead upstream_request(const Exchange& exchange, Actor actor, std::string method,
                                   std::string path, bool upgrade = false);

/// Who upstream takes a request of Actor::tenant for, or of Actor::tenant_anywhere: the tenant's
/// user, and for its audit log who that is inside.
std::shared_ptr<const http::FieldLines>
impersonation(std::string_view upstream_user, const Identity& identity, bool anywhere = false);

/// `path` with "?a=b&c=d", percent-encoded.
std::string with_query(std::string path, const translate::Params& params);

} // namespace zoo::gateway
