// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/audit_lines.hpp"
#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>

namespace zoo::cli {

/// Lines of the audit log that zood wrote to the journal, as zood answers those of its files:
/// {"items":[...],"more":bool,"torn":number}, the oldest first; `torn` lines have a beginning, and
/// no end, so that nobody can say whose they are. `match` says which process wrote them: matches
/// of sd_journal_add_match(3), all of which must hold, with blanks between; `directory` empty: this
/// machine's journal, as far as whoever runs zooctl may read it. Blocking. Code::not_found if
/// nothing of that process can be read, Code::io.
Result<nlohmann::json> read_journal(const std::string& match, const api::AuditQuery& query,
                                    const std::filesystem::path& directory = {});

} // namespace zoo::cli
