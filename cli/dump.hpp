// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace CLI {
class App;
} // namespace CLI

namespace zoo::cli {

/// The command tree as JSON: {name, summary, options[], arguments[], examples, commands[]}; an
/// option is {names[], value, default, repeated, required, summary}. Manual pages are made of it,
/// and tests check them against it.
nlohmann::json dump_tree(const CLI::App& root);

/// Fills a manual page's source (scdoc(5)). A line that is one of these markers is replaced:
///   @GLOBAL-OPTIONS@    the options of every command
///   @COMMANDS@          the commands of the top, groups as references to their own pages
///   @COMMANDS tenant@   the commands of a group
///   @EXIT-STATUS@       common/base/error_table.hpp
///   @KEYS@              the keys of zood.yaml, common/config/key.hpp
/// Code::internal for a marker that is none of them.
Result<std::string> render_man(std::string_view source, const nlohmann::json& dump);

} // namespace zoo::cli
