// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

/// RFC 6901. Pure, any thread.
namespace zoo::translate {

using Segments = std::vector<std::string>; ///< of a pointer, unescaped

/// Code::bad_request: no pointer, an escape that is none, or more than 64 segments.
Result<Segments> parse_pointer(std::string_view pointer);
std::string format_pointer(const Segments& segments);
/// "-", or digits alone.
bool is_index(std::string_view segment);

} // namespace zoo::translate
