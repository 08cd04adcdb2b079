// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/options.hpp"
#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

/// Tokens of ServiceAccounts, as a Kubernetes API gives them out (TokenRequest). Pure.
namespace zoo::cli {

std::string token_path(const ServiceAccountName& account); ///< to which the request is sent
/// `ttl`: an option's duration; "": as long as the API server says. Code::usage.
Result<nlohmann::json> token_request(const std::string& ttl);
Result<Secret> token_of(const nlohmann::json& answer); ///< Code::unavailable: there is none in it

} // namespace zoo::cli
