// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/table.hpp"

#include "daemon/resources/request.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace zoo::resources {
namespace {

using nlohmann::json;

json columns_of(const Kind& kind) {
  json out = json::array();
  for (const auto& column : kind.columns)
    out.push_back({{"name", column.name},
                   {"type", "string"},
                   {"format", column.format},
                   {"description", column.description},
                   {"priority", column.priority}});
  return out;
}

json cells_of(const Kind& kind, const json& object, std::int64_t now) {
  json out = json::array();
  for (const auto& column : kind.columns)
    out.push_back(column.cell(object, now));
  return out;
}

json empty_table(const Kind& kind, std::string_view version, bool columns) {
  json out{{"kind", "Table"},
           {"apiVersion", "meta.k8s.io/" + std::string(version)},
           {"metadata", json::object()},
           {"rows", json::array()}};
  out["columnDefinitions"] = columns ? columns_of(kind) : json::array();
  return out;
}

} // namespace

Result<RowObject> row_object(std::string_view parameter) {
  if (parameter.empty() || parameter == "Metadata") return RowObject::metadata;
  if (parameter == "None") return RowObject::none;
  if (parameter == "Object") return RowObject::object;
  return fail(Code::bad_request, "includeObject must be None, Metadata or Object, not '{}'",
              parameter);
}

json partial_metadata(const json& object, std::string_view version) {
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", "meta.k8s.io/" + std::string(version)},
          {"metadata", object.value("metadata", json::object())}};
}

json table_of(const Kind& kind, const json& object, std::string_view version, RowObject with,
              std::int64_t now, bool columns) {
  auto out = empty_table(kind, version, columns);
  json row{{"cells", cells_of(kind, object, now)}};
  if (with == RowObject::metadata) row["object"] = partial_metadata(object, version);
  if (with == RowObject::object) row["object"] = object;
  out["rows"].push_back(std::move(row));
  return out;
}

json table_bookmark(const Kind& kind, const json& object, std::string_view version, bool columns) {
  auto out = empty_table(kind, version, columns);
  out["rows"].push_back({{"cells", json::array()}, {"object", object}});
  return out;
}

TableText::TableText(const Kind& kind, std::string_view version, RowObject with, std::int64_t now)
    : kind_(kind), version_(version), with_(with), now_(now) {}

void TableText::add(const json& object) {
  rows_ += rows_.empty() ? "{\"cells\":" : ",{\"cells\":";
  rows_ += dump(cells_of(kind_, object, now_));
  if (with_ == RowObject::metadata) {
    const auto found = object.find("metadata");
    fmt::format_to(std::back_inserter(rows_),
                   R"(,"object":{{"apiVersion":"meta.k8s.io/{}","kind":"PartialObjectMetadata",)"
                   R"("metadata":{}}})",
                   version_, found != object.end() ? dump(*found) : "{}");
  } else if (with_ == RowObject::object) {
    rows_ += ",\"object\":" + dump(object);
  }
  rows_ += '}';
}

std::string TableText::finish(const json& metadata) const {
  return fmt::format(R"({{"apiVersion":"meta.k8s.io/{}","columnDefinitions":{},"kind":"Table",)"
                     R"("metadata":{},"rows":[{}]}})"
                     "\n",
                     version_, dump(columns_of(kind_)), dump(metadata), rows_);
}

} // namespace zoo::resources
