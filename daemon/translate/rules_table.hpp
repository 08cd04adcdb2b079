// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/translate/rules.hpp"

#include <cstddef>

/// The generated tables, seen by rules.cpp only. Sorted: roots by group and kind, rows by group and
/// resource, groups by name.
namespace zoo::translate::table {

extern const Root roots[];
extern const std::size_t root_count;
extern const ResourceRow rows[];
extern const std::size_t row_count;
extern const std::string_view groups[]; ///< built-in API groups
extern const std::size_t group_count;

} // namespace zoo::translate::table
