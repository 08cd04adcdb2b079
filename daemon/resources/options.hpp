// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/resources/backing.hpp"
#include "daemon/resources/request.hpp"

#include <nlohmann/json_fwd.hpp>

/// What a write says beside its object. Pure.
namespace zoo::resources {

/// Parameter dryRun: All, or not there. Code::bad_request.
Result<bool> dry_run_of(const Request& request);

/// The members of metav1.DeleteOptions that mean something here.
struct DeleteOptions {
  bool dry_run = false;
  Preconditions expected;
};
/// Code::bad_request with the member that is not what it must be.
Result<DeleteOptions> delete_options(const nlohmann::json& body);

} // namespace zoo::resources
