// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::resources {

inline constexpr std::size_t k_body_limit = 1u << 20; ///< bytes of a request body
inline constexpr std::size_t k_depth_limit =
    64; ///< levels of it; no kind that is served here comes near

/// A request body as JSON. `content_type` with or without parameters; empty means JSON.
/// application/yaml and application/apply-patch+yaml take YAML or JSON; any "...json" takes JSON.
/// Code::bad_request (broken, too deep, not UTF-8), Code::unsupported_media_type.
/// `duplicates` gets the paths of keys that occur twice (the last one counts, as upstream has it).
Result<nlohmann::json> parse_body(std::string_view text, std::string_view content_type,
                                  std::vector<std::string>& duplicates);

/// "application/json" of "Application/JSON; charset=utf-8".
std::string media_type(std::string_view content_type);

} // namespace zoo::resources
