// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/object.hpp"

#include "common/base/json_text.hpp"
#include "common/kube/age.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

void set_cells(Object& out, const json& cells) {
  std::string* part = &out.cells_begin;
  *part = "[";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) *part += ',';
    if (cells[i].is_null()) {
      part = &out.cells_end;
    } else {
      *part += dump(cells[i]);
    }
  }
  *part += ']';
}

} // namespace

ObjectPtr make_object(const Kind& kind, json object, std::int64_t revision) {
  auto out = std::make_shared<Object>();
  auto& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  metadata.erase("resourceVersion");
  if (revision != 0) metadata["resourceVersion"] = std::to_string(revision); // 0: a dry run's
  if (const auto name = metadata.find("name"); name != metadata.end() && name->is_string())
    out->name = name->get<std::string>();
  if (const auto labels = metadata.find("labels"); labels != metadata.end() && labels->is_object())
    for (const auto& [key, value] : labels->items())
      if (value.is_string()) out->labels[key] = value.get<std::string>();
  if (const auto time = metadata.find("creationTimestamp");
      time != metadata.end() && time->is_string())
    out->created = kube::unix_seconds(time->get_ref<const std::string&>());
  if (kind.extra_field == "spec.unschedulable") {
    const auto spec = object.value("spec", json::object());
    out->extra_field =
        spec.is_object() && spec.value("unschedulable", json()) == true ? "true" : "false";
  }
  out->revision = revision;
  out->metadata = dump(metadata);
  set_cells(*out, cells_of(kind, object));
  out->json = dump(object);
  return out;
}

ObjectPtr make_mark(const Kind& kind, std::int64_t revision, bool initial_events_end) {
  json metadata = json::object();
  if (initial_events_end) metadata["annotations"]["k8s.io/initial-events-end"] = "true";
  return make_object(
      kind,
      {{"kind", kind.kind}, {"apiVersion", kind.api_version()}, {"metadata", std::move(metadata)}},
      revision);
}

void write_object(const Object& object, Shape shape, std::int64_t now, std::string& out) {
  const auto partial = [&] {
    out += R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)";
    out += object.metadata;
    out += '}';
  };
  if (shape == Shape::object) {
    out += object.json;
    return;
  }
  if (shape == Shape::partial) return partial();
  out += "{\"cells\":";
  out += object.cells_begin;
  if (!object.cells_end.empty()) {
    append_json_quoted(out, kube::age_at(now, object.created));
    out += object.cells_end;
  }
  out += ",\"object\":";
  if (shape == Shape::table_object) {
    out += object.json;
  } else if (shape == Shape::table_metadata) {
    partial();
  } else {
    out += "null";
  }
  out += '}';
}

Result<Selection> Selection::parse(const Kind& kind, std::string_view labels,
                                   std::string_view fields) {
  Selection out;
  ZOO_TRY(out.labels_, translate::parse_label_selector(labels));
  ZOO_TRY(out.fields_, translate::parse_field_selector(fields));
  for (const auto& term : out.fields_) {
    if (term.key != "metadata.name" && (kind.extra_field.empty() || term.key != kind.extra_field))
      return fail(Code::bad_request, "field label not supported: {}", term.key);
  }
  return out;
}

bool Selection::matches(const Object& object) const {
  for (const auto& requirement : labels_) {
    const auto found = object.labels.find(requirement.key);
    const bool given = found != object.labels.end();
    if (!translate::fulfils(requirement,
                            given ? std::optional<std::string_view>(found->second) : std::nullopt))
      return false;
  }
  return std::all_of(fields_.begin(), fields_.end(), [&](const translate::FieldTerm& term) {
    const auto& value = term.key == "metadata.name" ? object.name : object.extra_field;
    return (term.value == value) == term.equal;
  });
}

} // namespace zoo::virtuals
