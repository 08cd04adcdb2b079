// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/authz/rule.hpp"
#include "daemon/gateway/access.hpp"
#include "daemon/http/message.hpp"

#include <optional>
#include <vector>

namespace zoo::gateway {

/// Somebody asks to be somebody else of his own tenant (kubectl --as), as k8s.io/apiserver
/// pkg/endpoints/filters/impersonation reads it.
struct Impersonation {
  Principal as;                            ///< who he is then
  std::vector<authz::Attributes> required; ///< each must be allowed to who he is now
};

/// From the headers Impersonate-User, -Group, -Uid and -Extra-*; nullopt without any of them.
/// Code::bad_request for a group, UID or extra without a user, and for what is no text. These
/// headers never pass upstream. Pure, any thread.
Result<std::optional<Impersonation>> read_impersonation(const http::Headers& headers);

} // namespace zoo::gateway
