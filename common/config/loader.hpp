// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/config/config.hpp"

/// Shared by the sources of this folder.
namespace zoo::config {

/// The value of a key from its text: as a scalar of the file, or on a command line (lists: items
/// separated by commas). Code::usage with the rule; the key is not named.
Result<Value> parse_text(const Key& key, std::string_view text);

/// "unknown key 'listn', did you mean 'listen'?"
std::string unknown_key(std::span<const Key> keys, std::string_view name);

} // namespace zoo::config
