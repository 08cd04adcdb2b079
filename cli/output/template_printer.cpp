// SPDX-License-Identifier: Apache-2.0
#include "cli/output/template_printer.hpp"

#include "cli/output/rows.hpp"
#include "common/kube/json_reads.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace zoo::cli {
namespace {

using nlohmann::json;

std::string names_of(const json& list) {
  std::string out;
  for (const auto& each : list)
    out += (out.empty() ? "" : ", ") + text_at(each, "/name");
  return out;
}

std::vector<Cell> template_row(const Context& context, const json& object, bool wide) {
  const auto parameters = kube::list_at(object, "/parameters");
  const auto role = text_at(object, "/applyAs/clusterRole");
  std::vector<Cell> row = {{text_at(object, "/metadata/name")},
                           {std::to_string(kube::list_at(object, "/resources/manifests").size())},
                           {text_at(object, "/resources/helm/chart/repository/name")},
                           {names_of(parameters)},
                           {age_of(context, text_at(object, "/metadata/creationTimestamp"))}};
  if (wide) row.push_back({role.empty() ? "zoo:templates" : role});
  return row;
}

std::vector<Cell> instance_row(const Context& context, const json& object, bool wide) {
  const auto status = text_at(object, "/status/status");
  const auto labels = object.value("/metadata/labels"_json_pointer, json::object());
  const bool kept = labels.is_object() && labels.value("zoo.kubezoo.io/managed", json()) == "true";
  const auto conditions = kube::list_at(object, "/status/conditions");
  const auto ready = conditions.empty() ? json::object() : conditions[0];
  const bool sync = text_at(object, "/spec/sync") == "true";
  std::vector<Cell> row = {{text_at(object, "/metadata/namespace")},
                           {text_at(object, "/metadata/name")},
                           {text_at(object, "/spec/template")},
                           {status.empty() ? "Pending" : status, status == "Deployed" ? Colour::good
                                                                 : status == "Failed"
                                                                     ? Colour::bad
                                                                     : Colour::waiting},
                           {text_at(ready, "/reason")},
                           {kept   ? "account"
                            : sync ? "sync"
                                   : "once"},
                           {std::to_string(kube::list_at(object, "/status/objects").size())},
                           {age_of(context, text_at(object, "/metadata/creationTimestamp"))}};
  if (wide) row.push_back({text_at(ready, "/message")});
  return row;
}

} // namespace

void print_templates(Context& context, const json& list, const PrintOptions& options) {
  std::vector<std::string> headers = {"NAME", "MANIFESTS", "CHART", "PARAMETERS", "AGE"};
  if (options.format == Format::wide) headers.emplace_back("ROLE");
  print_list(context, list, options, std::move(headers), template_row);
}

void print_instances(Context& context, const json& list, const PrintOptions& options) {
  std::vector<std::string> headers = {"SPACE",  "NAME",    "TEMPLATE", "STATUS",
                                      "REASON", "FOLLOWS", "OBJECTS",  "AGE"};
  if (options.format == Format::wide) headers.emplace_back("MESSAGE");
  print_list(context, list, options, std::move(headers), instance_row);
}

void print_instance_result(Context& context, const json& instance, std::string_view what,
                           bool dry_run, Format format) {
  print_result_of(context, "templateinstance", instance, what, dry_run, format, print_instances);
}

void print_objects(Context& context, const std::vector<json>& objects, Format format) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (format == Format::name) {
      context.out << printable(text_at(objects[i], "/kind")) << '/'
                  << printable(text_at(objects[i], "/metadata/name")) << '\n';
      continue;
    }
    if (i > 0 && format != Format::json) context.out << "---\n";
    print_record(context, objects[i], format == Format::json ? Format::json : Format::yaml);
  }
}

} // namespace zoo::cli
