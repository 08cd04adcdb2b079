// SPDX-License-Identifier: Apache-2.0
#include "cli/options.hpp"

#include "common/base/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::cli {

void add_format_option(CLI::App& app, std::string& value, std::string_view formats) {
  const auto check = [formats](std::string& given) -> std::string {
    const auto names = text::split(formats, '|');
    if (std::find(names.begin(), names.end(), given) != names.end()) return {};
    const auto near = text::nearest(given, names);
    return near ? fmt::format("there is no output format '{}', did you mean '{}'?", given, *near)
                : fmt::format("there is no output format '{}', only {}", given,
                              fmt::join(names, ", "));
  };
  app.add_option("-o,--output", value, "Format of the result")
      ->type_name(std::string(formats))
      ->check(CLI::Validator(check, "", ""));
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value,
                        std::string_view choices, const std::string& doc) {
  const auto check = [name, choices](std::string& given) -> std::string {
    const auto names = text::split(choices, '|');
    if (std::find(names.begin(), names.end(), given) != names.end()) return {};
    const auto near = text::nearest(given, names);
    return fmt::format("{} is one of {}, not '{}'{}", name, fmt::join(names, ", "), given,
                       near ? fmt::format(": did you mean '{}'?", *near) : std::string());
  };
  return app.add_option(name, value, doc)
      ->type_name(std::string(choices))
      ->check(CLI::Validator(check, "", ""));
}

void add_no_headers(CLI::App& app, bool& value) {
  app.add_flag("--no-headers", value, "Print tables without their line of headers");
}

void add_dry_run(CLI::App& app, bool& value) {
  app.add_flag("--dry-run", value, "Check everything, and change nothing");
}

void add_wait_options(CLI::App& app, WaitOptions& value, std::string_view what) {
  app.add_flag(
      "--wait,!--no-wait", value.wait,
      fmt::format("Wait until {} ({})", what,
                  value.wait ? "the default; --no-wait does not" : "the default is not to wait"));
  app.add_option("--timeout", value.timeout, "How long to wait at most")
      ->type_name("DURATION")
      ->capture_default_str();
}

void add_kubeconfig_output(CLI::App& app, std::string& output, bool& merge) {
  auto* file =
      app.add_option("-o,--output", output, "Write to this file, mode 0600; - is standard output")
          ->type_name("FILE");
  app.add_flag("--merge", merge,
               "Merge into the file that kubectl uses ($KUBECONFIG, or ~/.kube/config) and "
               "switch to the new context")
      ->excludes(file);
}

CLI::Option* add_repeated(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                          const std::string& doc, const std::string& type) {
  return app.add_option(name, values, doc)->type_name(type)->allow_extra_args(false);
}

void add_cluster_space(CLI::App& app, std::string& value) {
  app.add_option("-n,--namespace", value, "The namespace of virtual clusters")
      ->type_name("NAMESPACE")
      ->capture_default_str();
}

void add_cluster_name(CLI::App& app, std::string& value) {
  app.add_option("cluster", value, "The virtual cluster's name")->type_name("CLUSTER")->required();
}

void add_cluster_names(CLI::App& app, std::vector<std::string>& values) {
  app.add_option("cluster", values, "Names of virtual clusters")->type_name("CLUSTER")->required();
}

Result<ServiceAccountName> option_service_account(std::string_view option,
                                                  const std::string& text) {
  const auto slash = text.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == text.size())
    return fail(Code::usage, "{} '{}' is not NAMESPACE/NAME", option, text);
  return ServiceAccountName{text.substr(0, slash), text.substr(slash + 1)};
}

Result<std::pair<std::string, std::string>>
option_pair(std::string_view option, const std::string& text, std::string_view shown) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return fail(Code::usage, "{}{}'{}' is not {}", option, option.empty() ? "" : " ", text, shown);
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<nlohmann::json> option_template(const std::string& text) {
  const auto colon = text.find(':');
  nlohmann::json out = {{"template", text.substr(0, colon)}};
  if (out["template"].get_ref<const std::string&>().empty())
    return fail(Code::usage, "--template '{}' names no template", text);
  if (colon == std::string::npos) return out;
  for (const auto part : text::split(std::string_view(text).substr(colon + 1), ',')) {
    ZOO_TRY(const auto pair, option_pair("--template", std::string(part), "T:NAME=VALUE,..."));
    out["parameters"].push_back({{"name", pair.first}, {"value", pair.second}});
  }
  return out;
}

std::string without_kind(std::string id) {
  for (const std::string_view kind : {"tenant/", "tenants/", "tenant.tenant.kubezoo.io/"})
    if (id.starts_with(kind)) return id.substr(kind.size());
  return id;
}

Result<void> check_user(const std::string& user, const std::vector<std::string>& groups) {
  if (!user.empty() || groups.empty()) return {};
  return fail(Code::usage, "--group needs --user: whose group is '{}'?", groups.front());
}

void add_examples(CLI::App& app, std::string_view text) {
  app.footer(fmt::format("Examples:\n{}", text));
}

} // namespace zoo::cli
