// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/context.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What commands print of Tenants, in the format asked for. Objects are a server's JSON, read
/// tolerantly: one odd object never fails a list.
namespace zoo::cli {

enum class Format { standard, table, wide, json, yaml, name };

/// "" is standard: a table or words, whichever the command prints by itself. The names were
/// checked by add_format_option().
Format format_of(std::string_view name);

/// The text at a JSON pointer; "" where there is none. Numbers and booleans as JSON writes them.
std::string text_at(const nlohmann::json& object, std::string_view pointer);

/// Seconds since 1970 of an RFC 3339 time in UTC; nothing if it is not one.
std::optional<std::int64_t> unix_time(std::string_view rfc3339);

/// How long ago that was, as column AGE says it; "<unknown>" if it is no such time.
std::string age_of(const Context& context, std::string_view created);

struct PrintOptions {
  Format format = Format::standard;
  bool headers = true;
};

/// One Tenant: table, wide, json, yaml or name (the ID alone).
void print_tenant(Context& context, const nlohmann::json& tenant, const PrintOptions& options);

/// A TenantList; json and yaml as one record.
void print_tenants(Context& context, const nlohmann::json& list, const PrintOptions& options);

/// Everything of one Tenant for people, conditions included; never its kubeconfig.
void describe_tenant(Context& context, const nlohmann::json& tenant);

/// JSON without control characters: what tenants wrote may not speak to a terminal (DEL and C1 are
/// escaped too, which JSON does not ask for). `indent`: -1 for one line.
std::string json_text(const nlohmann::json& value, int indent);

/// `value` as indented JSON or as YAML, with a line end.
void print_record(Context& context, const nlohmann::json& value, Format format);

/// Takes the kubeconfig out of a Tenant's annotations: it holds a private key, and belongs into
/// `zooctl kubeconfig export` only, not into terminals and backups.
void drop_kubeconfig(nlohmann::json& tenant);

} // namespace zoo::cli
