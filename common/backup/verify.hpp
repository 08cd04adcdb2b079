// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/backup/content.hpp"

#include <string>
#include <vector>

namespace zoo::backup {

/// What would keep a zood from working with this content, a sentence each: the master key opens
/// every key of the keyring, these open every kept credential, every other record is JSON, and the
/// CAs belong to their keys. Empty: it can be restored. Pure; any thread.
std::vector<std::string> problems_of(const Content& content);

} // namespace zoo::backup
