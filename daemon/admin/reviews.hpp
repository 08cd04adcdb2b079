// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "daemon/admin/api_types.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string_view>

namespace zoo::admin {

/// POST of SelfSubjectAccessReview and SelfSubjectRulesReview (authorization.k8s.io/v1), and
/// SelfSubjectReview (authentication.k8s.io/v1): who passed a door may do everything that this API
/// has; what it does not have (pods, ...) is denied with the reason. Pure.
Answer access_review(const Request& request);
Answer rules_review(const Request& request);
Answer self_review(const Request& request);

/// One of these in Kubernetes' protobuf envelope, which kubectl sends since 1.34, as JSON; the
/// answer is JSON, which its Accept allows. Code::bad_request.
Result<nlohmann::json> review_from_protobuf(std::string_view body);

} // namespace zoo::admin
