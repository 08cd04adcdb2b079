// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/upstream/upstream_rbac.hpp"

#include <string_view>
#include <vector>

/// Manifests that stand as YAML texts in this program. Pure.
namespace zoo::upstream {

inline constexpr std::string_view k_licence_line = "# SPDX-License-Identifier: Apache-2.0\n";
inline constexpr std::string_view k_between_documents = "---\n";

/// The documents of a text, without the line of its licence. Views of `text`.
std::vector<std::string_view> documents(std::string_view text);

/// The object of one document. Throws for what cannot be read: the texts are ours, and a test reads
/// them all.
Manifest manifest_of_yaml(Need need, std::string_view printed_by, std::string_view document);

} // namespace zoo::upstream
