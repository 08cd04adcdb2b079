// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <filesystem>
#include <string_view>

/// Files in the directory of a virtual cluster that its programs read. Where the keeper lets these
/// run as a user of their own, their directory has its group and passes that on (setgid): then the
/// group may read the file, else zood's user alone.
/// docs/decisions/345-a-user-for-each-control-plane.md
namespace zoo::clusters {

/// Replaces the file in one step. At no moment can anybody read it who may not, and nobody who may
/// finds it closed. Code::io.
Result<void> write_for_programs(const std::filesystem::path& path, std::string_view bytes);

/// Lets the programs connect to a socket of zood's there. Code::io.
Result<void> open_for_programs(const std::filesystem::path& socket);

} // namespace zoo::clusters
