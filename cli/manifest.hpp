// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::cli {

/// The Tenants of `file` ("-": `input`): YAML with any number of documents, or JSON values one
/// after another; a List stands for its items. Every object is checked to be a Tenant whose fields
/// have the right types (api::from_json), and is passed on as it was written. Code::usage if there
/// is none, bad_request or invalid with file and document for a broken one, io, not_found.
Result<std::vector<nlohmann::json>> read_manifests(std::string_view file, std::istream& input);

/// The same of a text; `name` is said in errors.
Result<std::vector<nlohmann::json>> parse_manifests(std::string_view text, std::string_view name);

/// Objects of any kind, likewise, as an array.
Result<nlohmann::json> read_objects(std::string_view file, std::istream& input);

/// metadata.name.
std::string tenant_id(const nlohmann::json& tenant);

} // namespace zoo::cli
