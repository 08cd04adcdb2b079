// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "cli/output/printer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string_view>
#include <vector>

/// What commands print of Templates and their instances. Objects are a server's JSON, read
/// tolerantly.
namespace zoo::cli {

void print_templates(Context& context, const nlohmann::json& list, const PrintOptions& options);
void print_instances(Context& context, const nlohmann::json& list, const PrintOptions& options);
void print_instance_result(Context& context, const nlohmann::json& instance, std::string_view what,
                           bool dry_run, Format format);

/// Objects that a template stands for: YAML documents, JSON values, or "Kind/name" each.
void print_objects(Context& context, const std::vector<nlohmann::json>& objects, Format format);

} // namespace zoo::cli
