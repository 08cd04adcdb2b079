// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/upstream_rbac.hpp"

#include <string>
#include <string_view>
#include <vector>

/// The admission policy that makes zood the API server inside tenants' pods, and its binding. They
/// stand as YAML in daemon/upstream/inside; tenants::Inside installs them when what they rest on is
/// there, and puts them back; `zood --print-upstream-inside` prints them, and
/// packaging/upstream-inside.yaml is that print. Pure.
namespace zoo::upstream {

/// The policy, its binding, and the names of what they read: see tenants/inside.hpp.
inline constexpr std::string_view k_inside_policy = "zoo-pods-inside";
inline constexpr std::string_view k_inside_params = "zoo-inside";

/// As a version of admissionregistration.k8s.io has them: "v1" (Kubernetes 1.36) or "v1beta1"
/// (1.34 and 1.35, where it is switched on). In the order in which they are to be installed: first
/// zoo-parameters and its binding, which are never taken away again, then the policy, then its
/// binding.
std::vector<Manifest> inside_manifests(std::string_view version);

/// Of v1, as one YAML stream for `kubectl apply --server-side -f`.
std::string inside_manifests_yaml();

/// The text. Made from the file.
std::string_view inside_text();

} // namespace zoo::upstream
