// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string_view>

/// What a write of a role or a binding would hand out, held against what the writer has: the checks
/// of k8s.io/kubernetes pkg/registry/rbac/{role,clusterrole,rolebinding,clusterrolebinding}/
/// policybased. They need the policy that the exchange has for requests about RBAC objects.
namespace zoo::gateway {

class Exchange;

/// May the writer store this object? It is in the tenant's names, and whole: a body to create or
/// update, or what a patch would lead to. Objects of other kinds pass. Code::forbidden in
/// Kubernetes' words; Code::not_found for a binding to a role that does not exist.
Result<void> check_grant(const Exchange& exchange, std::string_view object);

/// The same for an object in upstream's names.
Result<void> check_stored_grant(const Exchange& exchange, std::string_view object);

} // namespace zoo::gateway
