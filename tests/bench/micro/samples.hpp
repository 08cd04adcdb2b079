// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace zoo::bench {

/// A pod as kube-apiserver writes it in a list (no kind, no apiVersion), with managedFields: 3.2
/// KiB.
std::string pod(std::size_t number, const std::string& name_space);
/// A PodList of so many.
std::string pod_list(std::size_t count, const std::string& name_space);
/// A ConfigMap of half a KiB of data.
std::string config_map(const std::string& name_space);

/// What upstream says of so many groups of definitions, each of another tenant (a00000, a00001,
/// ...): /apis, aggregated, with `change` in the one in the middle, and the index of /openapi/v3.
std::string groups(std::size_t count, const std::string& change);
std::string openapi_index(std::size_t count);

} // namespace zoo::bench
