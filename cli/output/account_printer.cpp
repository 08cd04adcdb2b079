// SPDX-License-Identifier: Apache-2.0
#include "cli/output/account_printer.hpp"

#include "cli/output/rows.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

namespace zoo::cli {
namespace {

using nlohmann::json;

std::string members_of(const json& account) {
  std::string out;
  for (const auto& subject : kube::list_at(account, "/spec/subjects"))
    out += (out.empty() ? "" : ", ") + member_text(subject);
  for (const auto& binding : kube::list_at(account, "/spec/space/bindings"))
    for (const auto& subject : kube::list_at(binding, "/subjects"))
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", member_text(subject),
                         text_at(binding, "/clusterRole"));
  return out;
}

std::string spaces_of(const json& account) {
  const auto count = kube::list_at(account, "/status/namespaces").size();
  const auto limit = text_at(account, "/spec/space/limit");
  return limit.empty() ? std::to_string(count) : fmt::format("{}/{}", count, limit);
}

std::string role_of(const json& account) {
  const auto role = text_at(account, "/spec/space/clusterRole");
  const bool given = account.contains("/spec/space/clusterRole"_json_pointer);
  return given && role.empty() ? "<none>" : given ? role : "<default>";
}

std::string condition_of(const json& account, std::string_view type) {
  for (const auto& condition : kube::list_at(account, "/status/conditions"))
    if (text_at(condition, "/type") == type) return text_at(condition, "/status");
  return {};
}

Colour account_colour_of(std::string_view phase) {
  if (phase == "Active" || phase == "True") return Colour::good;
  if (phase == "Initializing" || phase == "Terminating") return Colour::waiting;
  return phase.empty() ? Colour::none : Colour::bad;
}

std::vector<Cell> account_row(const Context& context, const json& account, bool wide) {
  const auto ready = condition_of(account, "Ready");
  std::vector<Cell> row = {{text_at(account, "/metadata/name")},
                           {spaces_of(account)},
                           {std::to_string(kube::list_at(account, "/spec/subjects").size())},
                           {role_of(account)},
                           {ready, account_colour_of(ready)},
                           {age_of(context, text_at(account, "/metadata/creationTimestamp"))}};
  if (wide) {
    row.push_back({members_of(account)});
    row.push_back({text_at(account, "/spec/deletionPolicy")});
  }
  return row;
}

std::vector<Cell> space_row(const Context& context, const json& space, bool wide) {
  const auto phase = text_at(space, "/status/phase");
  std::vector<Cell> row = {{text_at(space, "/metadata/name")},
                           {text_at(space, "/spec/account")},
                           {phase, account_colour_of(phase)},
                           {age_of(context, text_at(space, "/metadata/creationTimestamp"))}};
  if (wide) row.push_back({text_at(space, "/metadata/uid")});
  return row;
}

void account_line(Context& context, std::string_view name, std::string_view value) {
  context.out << fmt::format("{:<17} {}\n", fmt::format("{}:", name),
                             value.empty() ? "<none>" : printable(value));
}

void lines(Context& context, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return account_line(context, name, "");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 0) {
      account_line(context, name, values[i]);
    } else {
      context.out << std::string(18, ' ') << printable(values[i]) << '\n';
    }
  }
}

std::vector<std::string> pairs_at(const json& object, const json::json_pointer& where) {
  std::vector<std::string> out;
  const auto map = object.value(where, json::object());
  if (!map.is_object()) return out;
  for (const auto& [key, value] : map.items())
    out.push_back(fmt::format("{}={}", key, value.is_string() ? value.get<std::string>() : ""));
  return out;
}

std::vector<std::string> texts_at(const json& object, const char* where,
                                  std::string (*text)(const json&)) {
  std::vector<std::string> out;
  for (const auto& each : kube::list_at(object, where))
    out.push_back(text(each));
  return out;
}

void conditions(Context& context, const json& object) {
  const auto all = kube::list_at(object, "/status/conditions");
  if (all.empty()) return;
  Table table{{"TYPE", "STATUS", "REASON", "MESSAGE"}, {}};
  for (const auto& each : all)
    table.rows.push_back({{text_at(each, "/type")},
                          {text_at(each, "/status")},
                          {text_at(each, "/reason")},
                          {text_at(each, "/message")}});
  context.out << "\nConditions:\n";
  print_table(context.out, table, {true, context.colours()});
}

} // namespace

std::string member_text(const json& subject) {
  const auto kind = text_at(subject, "/kind"), name = text_at(subject, "/name");
  if (kind == "Group") return "group " + name;
  if (kind == "ServiceAccount")
    return fmt::format("sa {}/{}", text_at(subject, "/namespace"), name);
  return name;
}

void print_accounts(Context& context, const json& list, const PrintOptions& options) {
  std::vector<std::string> headers = {"NAME", "SPACES", "MEMBERS", "ROLE", "READY", "AGE"};
  if (options.format == Format::wide) {
    headers.emplace_back("WHO");
    headers.emplace_back("DELETION");
  }
  print_list(context, list, options, std::move(headers), account_row);
}

void print_spaces(Context& context, const json& list, const PrintOptions& options) {
  std::vector<std::string> headers = {"NAME", "ACCOUNT", "STATUS", "AGE"};
  if (options.format == Format::wide) headers.emplace_back("UID");
  print_list(context, list, options, std::move(headers), space_row);
}

void print_account_result(Context& context, const json& account, std::string_view what,
                          bool dry_run, Format format) {
  print_result_of(context, "account", account, what, dry_run, format, print_accounts);
}

void print_space_result(Context& context, const json& space, std::string_view what, bool dry_run,
                        Format format) {
  print_result_of(context, "space", space, what, dry_run, format, print_spaces);
}

void describe_account(Context& context, const json& account) {
  account_line(context, "Name", text_at(account, "/metadata/name"));
  lines(context, "Members", texts_at(account, "/spec/subjects", member_text));
  account_line(context, "Role", role_of(account));
  account_line(context, "Spaces", spaces_of(account));
  lines(context, "Owns", texts_at(account, "/status/namespaces", [](const json& each) {
          return text_at(each, "/name");
        }));
  lines(context, "Being made", texts_at(account, "/status/pending", [](const json& each) {
          return fmt::format("{} (for {})", text_at(each, "/name"), text_at(each, "/requester"));
        }));
  lines(context, "Failed", texts_at(account, "/status/failedSpaces", [](const json& each) {
          return fmt::format("{}: {}", text_at(each, "/name"), text_at(each, "/message"));
        }));
  const auto policy = text_at(account, "/spec/deletionPolicy");
  account_line(context, "Deletion policy", policy.empty() ? "Orphan" : policy);
  lines(context, "Space labels",
        pairs_at(account, "/spec/space/spaceTemplate/metadata/labels"_json_pointer));
  lines(context, "Labels", pairs_at(account, "/metadata/labels"_json_pointer));
  account_line(context, "Created", text_at(account, "/metadata/creationTimestamp"));
  conditions(context, account);
}

void describe_space(Context& context, const json& space) {
  account_line(context, "Name", text_at(space, "/metadata/name"));
  account_line(context, "Account", text_at(space, "/spec/account"));
  account_line(context, "Status", text_at(space, "/status/phase"));
  account_line(context, "UID", text_at(space, "/metadata/uid"));
  lines(context, "Labels", pairs_at(space, "/metadata/labels"_json_pointer));
  lines(context, "Annotations", pairs_at(space, "/metadata/annotations"_json_pointer));
  account_line(context, "Created", text_at(space, "/metadata/creationTimestamp"));
}

} // namespace zoo::cli
