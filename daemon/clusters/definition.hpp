// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace zoo::clusters {

/// packaging/kosmos-crd.yaml: the definition of VirtualCluster in the upstream. Made from the file.
std::string_view definition_text();

} // namespace zoo::clusters
