// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/base/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

/// Options that several commands share, so that they are spelled and explained once.
namespace zoo::cli {

/// The formats of commands that show objects.
inline constexpr std::string_view k_object_formats = "table|wide|json|yaml|name";

/// -o/--output with these formats, k_object_formats or fewer; others are refused with the one that
/// was probably meant.
void add_format_option(CLI::App& app, std::string& value, std::string_view formats);

/// An option, or an argument, with one of these values ("Orphan|Delete"), completed and refused
/// likewise. `choices` outlives the command.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        std::string_view choices, const std::string& doc);

void add_no_headers(CLI::App& app, bool& value);
void add_dry_run(CLI::App& app, bool& value);

/// --wait (on by default where `initially`), --no-wait and --timeout.
struct WaitOptions {
  bool wait = true;
  std::string timeout;
};
void add_wait_options(CLI::App& app, WaitOptions& value, std::string_view what);

/// -o/--output and --merge, which exclude each other: where a command writes a kubeconfig.
void add_kubeconfig_output(CLI::App& app, std::string& output, bool& merge);

/// An option that may be given several times, one value each time.
CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& doc, const std::string& type);

/// -n/--namespace of virtual clusters, one of them, several.
void add_cluster_space(CLI::App& app, std::string& value);
void add_cluster_name(CLI::App& app, std::string& value);
void add_cluster_names(CLI::App& app, std::vector<std::string>& values);

/// "NAMESPACE/NAME" of a ServiceAccount. Code::usage: "OPTION 'TEXT' is not NAMESPACE/NAME".
struct ServiceAccountName {
  std::string space, name;
};
Result<ServiceAccountName> option_service_account(std::string_view option, const std::string& text);

/// Splits "KEY=VALUE" at the first "=": the value may have more of them.
/// Code::usage: "OPTION 'TEXT' is not SHOWN". An empty `option`: an argument.
Result<std::pair<std::string, std::string>>
option_pair(std::string_view option, const std::string& text, std::string_view shown);

/// "walls:CPU=2,OPEN=no" of --template, as what names a Template and its parameters. Code::usage.
Result<nlohmann::json> option_template(const std::string& text);

/// "tenant/foofoo", as results and kubectl write it, is foofoo too.
std::string without_kind(std::string id);

/// Groups are a user's: without --user nobody would know whose.
Result<void> check_user(const std::string& user, const std::vector<std::string>& groups);

/// "zooctl kubectl foofoo": the examples at the end of a command's help and manual page.
void add_examples(CLI::App& app, std::string_view text);

} // namespace zoo::cli
