// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"
#include "cli/output/printer.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

/// What commands print of Accounts and Spaces. Objects are a server's JSON, read tolerantly.
namespace zoo::cli {

void print_accounts(Context& context, const nlohmann::json& list, const PrintOptions& options);
void print_spaces(Context& context, const nlohmann::json& list, const PrintOptions& options);

/// One object: "account/blue created" for people, else in the format asked for, one record after
/// the other.
void print_account_result(Context& context, const nlohmann::json& account, std::string_view what,
                          bool dry_run, Format format);
void print_space_result(Context& context, const nlohmann::json& space, std::string_view what,
                        bool dry_run, Format format);

void describe_account(Context& context, const nlohmann::json& account);
void describe_space(Context& context, const nlohmann::json& space);

/// "john", "group devs", "sa team/deployer"
std::string member_text(const nlohmann::json& subject);

} // namespace zoo::cli
