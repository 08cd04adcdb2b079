// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

/// Definitions under which upstream cannot read what is stored (docs/decisions/160). Pure.
namespace zoo::tenants {

/// The version that upstream misses where it refuses to read an object of `group` that is stored
/// in a version that the definition does not have; "": it says something else.
std::string missing_version(std::string_view message, std::string_view group);

/// The CustomResourceDefinition `definition` as one under which every object that may be stored
/// can be read: schemas that take anything, no conversion, and `version` among its versions, if it
/// is not "". Where a name that upstream has accepted is empty, it is the one that was asked for.
nlohmann::json readable_definition(const nlohmann::json& definition, const std::string& version);

/// Has upstream accepted the names of this definition, and does not serve it all the same?
bool hides_objects(const nlohmann::json& definition);
/// The definition as one that upstream serves.
nlohmann::json established(const nlohmann::json& definition);

} // namespace zoo::tenants
