// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/cluster.hpp"
#include "cli/context.hpp"
#include "common/base/result.hpp"
#include "common/templates/parameters.hpp"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <string>
#include <vector>

/// What a template stands for in a space, as zood would make it. One thread.
namespace zoo::cli {

struct RenderWish {
  std::string name, file; ///< of the template: in the cluster, or in a file ("-": standard input)
  std::string name_space;
  templates::Values values; ///< of parameters
};

/// The template's objects for the space, in the order in which they are applied. Errors as the
/// status of an instance would say them; those of the cluster where the template, the space or its
/// account may not be read.
Result<std::vector<nlohmann::json>> render_template(Context& context, Cluster& cluster,
                                                    const RenderWish& wish);

/// Says for each object what applying it would change of what there is, as upstream's dry run says
/// it, with the caller's own rights. True: something would change.
Result<bool> print_differences(Context& context, Cluster& cluster,
                               const std::vector<nlohmann::json>& objects,
                               const std::string& name_space);

/// Waits until a TemplateInstance is Deployed, and answers it. Code::timeout with what zood is at,
/// Code::invalid if it has Failed.
Result<nlohmann::json> wait_until_deployed(Context& context, Cluster& cluster,
                                           const nlohmann::json& instance,
                                           std::chrono::milliseconds timeout);

} // namespace zoo::cli
