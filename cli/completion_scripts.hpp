// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace zoo::cli {

/// The files of completions/, as they were when zooctl was built.
extern const std::string_view k_completion_bash, k_completion_zsh, k_completion_fish;

} // namespace zoo::cli
