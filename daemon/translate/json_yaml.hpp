// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <string>
#include <string_view>

/// Answers in YAML. Pure, any thread.
namespace zoo::translate {

inline constexpr std::string_view k_yaml = "application/yaml";

/// The same document as YAML that readers of 1.1 and 1.2 take for the same: block style, keys in
/// the order of the text, strings that could be something else quoted; what lies deeper than 64
/// levels stays as JSON, which is YAML too. Code::bad_request if `json` is none.
Result<std::string> json_to_yaml(std::string_view json);

} // namespace zoo::translate
