// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
} // namespace CLI

namespace zoo::cli {

/// `zooctl __complete WORD...`, the last word being the one under the cursor (may be empty): a
/// candidate a line, a tab, what it is. A last line ":file" or ":dir" asks the shell for names of
/// files; ":none" for nothing more. Tenant IDs are asked from zood, which gets a second for it.
/// Never fails and never says a word on standard error.
void complete(Context& context, const CLI::App& root, std::vector<std::string> words);

} // namespace zoo::cli
