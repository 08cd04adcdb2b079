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

} // namespace zoo::bench
