// SPDX-License-Identifier: Apache-2.0
#include "cli/output/template_printer.hpp"

#include "cli/output/table.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace zoo::cli {
namespace {

using nlohmann::json;

json array_of(const json& object, const json::json_pointer& where) {
  auto value = object.value(where, json::array());
  return value.is_array() ? value : json::array();
}

std::string age_at(const Context& context, const json& object) {
  const auto time = unix_time(text_at(object, "/metadata/creationTimestamp"));
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(context.now().time_since_epoch()).count();
  return time ? human_span(now - *time) : std::string("<unknown>");
}

std::string names_of(const json& list) {
  std::string out;
  for (const auto& each : list)
    out += (out.empty() ? "" : ", ") + text_at(each, "/name");
  return out;
}

std::vector<Cell> template_row(const Context& context, const json& object, bool wide) {
  const auto parameters = array_of(object, "/parameters"_json_pointer);
  const auto role = text_at(object, "/applyAs/clusterRole");
  std::vector<Cell> row = {
      {text_at(object, "/metadata/name")},
      {std::to_string(array_of(object, "/resources/manifests"_json_pointer).size())},
      {text_at(object, "/resources/helm/chart/repository/name")},
      {names_of(parameters)},
      {age_at(context, object)}};
  if (wide) row.push_back({role.empty() ? "zoo:templates" : role});
  return row;
}

std::vector<Cell> instance_row(const Context& context, const json& object, bool wide) {
  const auto status = text_at(object, "/status/status");
  const auto labels = object.value("/metadata/labels"_json_pointer, json::object());
  const bool kept = labels.is_object() && labels.value("zoo.kubezoo.io/managed", json()) == "true";
  const auto conditions = array_of(object, "/status/conditions"_json_pointer);
  const auto ready = conditions.empty() ? json::object() : conditions[0];
  const bool sync = text_at(object, "/spec/sync") == "true";
  std::vector<Cell> row = {
      {text_at(object, "/metadata/namespace")},
      {text_at(object, "/metadata/name")},
      {text_at(object, "/spec/template")},
      {status.empty() ? "Pending" : status, status == "Deployed" ? Colour::good
                                            : status == "Failed" ? Colour::bad
                                                                 : Colour::waiting},
      {text_at(ready, "/reason")},
      {kept   ? "account"
       : sync ? "sync"
              : "once"},
      {std::to_string(array_of(object, "/status/objects"_json_pointer).size())},
      {age_at(context, object)}};
  if (wide) row.push_back({text_at(ready, "/message")});
  return row;
}

using Row = std::vector<Cell> (*)(const Context&, const json&, bool wide);

void print_rows(Context& context, const json& list, const PrintOptions& options,
                std::vector<std::string> headers, Row row) {
  if (options.format == Format::json || options.format == Format::yaml)
    return print_record(context, list, options.format);
  const auto items = array_of(list, "/items"_json_pointer);
  if (options.format == Format::name) {
    for (const auto& item : items)
      context.out << printable(text_at(item, "/metadata/name")) << '\n';
    return;
  }
  Table table{std::move(headers), {}};
  for (const auto& item : items)
    table.rows.push_back(row(context, item, options.format == Format::wide));
  if (!table.rows.empty()) print_table(context.out, table, {options.headers, context.colours()});
}

} // namespace

void print_templates(Context& context, const json& list, const PrintOptions& options) {
  std::vector<std::string> headers = {"NAME", "MANIFESTS", "CHART", "PARAMETERS", "AGE"};
  if (options.format == Format::wide) headers.emplace_back("ROLE");
  print_rows(context, list, options, std::move(headers), template_row);
}

void print_instances(Context& context, const json& list, const PrintOptions& options) {
  std::vector<std::string> headers = {"SPACE",  "NAME",    "TEMPLATE", "STATUS",
                                      "REASON", "FOLLOWS", "OBJECTS",  "AGE"};
  if (options.format == Format::wide) headers.emplace_back("MESSAGE");
  print_rows(context, list, options, std::move(headers), instance_row);
}

void print_instance_result(Context& context, const json& instance, std::string_view what,
                           bool dry_run, Format format) {
  if (format == Format::json || format == Format::yaml) {
    print_record(context, instance, format);
  } else if (format != Format::standard) {
    print_instances(context, {{"items", json::array({instance})}}, {format, true});
  } else if (!context.globals.quiet) {
    context.out << fmt::format("templateinstance/{} {}{}\n",
                               printable(text_at(instance, "/metadata/name")), what,
                               dry_run ? " (dry run)" : "")
                << std::flush;
  }
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
