// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"
#include "common/base/secret.hpp"

#include <filesystem>

namespace zoo::backup {

/// The first line of a file. Code::usage: it is too short to keep anything secret; errors of
/// file::read_secret(). Blocks for the disk.
Result<Secret> read_passphrase(const std::filesystem::path& file);

} // namespace zoo::backup
