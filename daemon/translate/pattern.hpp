// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Regular expressions (RE2, as Kubernetes takes them) over a value that has a prefix upstream.
/// Pure: any thread; linear in the length of the expression.
namespace zoo::translate {

/// An expression that matches `prefix` + x exactly where `pattern` matches x. `prefix` consists of
/// lower-case letters, digits and '-'. nullopt: there is none that can be told from the outside -
/// '^', '\A', '\b' or '\B' stand elsewhere than at the beginning of an alternative, or a group sets
/// flags, or '\Q' quotes.
std::optional<std::string> pattern_in(std::string_view prefix, std::string_view pattern);

/// The inverse. What pattern_in() has not made comes back as it is.
std::string pattern_out(std::string_view prefix, std::string_view pattern);

} // namespace zoo::translate
