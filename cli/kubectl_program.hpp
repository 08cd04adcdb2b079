// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "common/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Programs that zooctl becomes, with a kubeconfig that stands in no file.
namespace zoo::cli {

/// A program of PATH; one with a slash is taken as it is. Code::not_found; of kubectl it says where
/// to get it.
Result<std::string> find_program(const Context& context, std::string_view name);

/// What stands behind the name of a tenant or a cluster, for kubectl: without the `--` that ends
/// zooctl's own words, in front of which are only options of kubectl's. That of `exec POD --
/// COMMAND` is kubectl's.
std::vector<std::string> kubectl_words(std::vector<std::string> words);

/// Becomes `path` with KUBECONFIG naming `kubeconfig`, which is kept in memory, has no name in any
/// directory, and goes with the last process that holds it. `cache`: its own part of kubectl's
/// cache, which is keyed by the server's address alone. Returns only on failure.
Error run_with_kubeconfig(Context& context, const std::string& path, const std::string& argv0,
                          const std::vector<std::string>& arguments, std::string_view kubeconfig,
                          std::string_view cache);

} // namespace zoo::cli
