// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/admin/request.hpp"

namespace zoo::admin {

/// POST of SelfSubjectAccessReview and SelfSubjectRulesReview (authorization.k8s.io/v1), and
/// SelfSubjectReview (authentication.k8s.io/v1): who passed a door may do everything that this API
/// has; what it does not have (pods, ...) is denied with the reason. Pure.
Answer access_review(const Request& request);
Answer rules_review(const Request& request);
Answer self_review(const Request& request);

} // namespace zoo::admin
