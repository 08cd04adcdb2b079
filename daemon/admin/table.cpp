// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/table.hpp"

#include <nlohmann/json.hpp>

namespace zoo::admin {
namespace {

using nlohmann::json;

json column(const char* name, const char* format, int priority, const char* description) {
  return {{"name", name},
          {"type", "string"},
          {"format", format},
          {"description", description},
          {"priority", priority}};
}

json columns_of() {
  return json::array({
      column("Name", "name", 0, "The tenant's ID: six characters of a-z and 0-9."),
      column("Status", "", 0, "Pending, Ready, Suspended, Deleting or Failed."),
      column("Display Name", "", 0, "What people call the tenant."),
      column("Expires", "", 0, "How long the tenant's administrator certificate is still valid."),
      column("Age", "", 0, "Time since the tenant was created."),
      column("Waiting For", "", 1, "What zood waits for with this tenant."),
      column("UID", "", 1, "Of this tenant; one that comes back under the same ID has another."),
  });
}

std::string or_none(const std::string& text) { return text.empty() ? "<none>" : text; }

json cells_of(const api::Tenant& tenant, std::int64_t now) {
  const auto created = unix_seconds(tenant.creation_timestamp);
  const auto expires = unix_seconds(tenant.certificate_expiry);
  std::string status(api::phase_name(tenant.phase));
  if (status.empty()) status = "Pending";
  return json::array(
      {tenant.id, status, or_none(tenant.display_name),
       expires < 0 ? "<none>" : (expires <= now ? "expired" : human_duration(expires - now)),
       kube::age_at(now, created), or_none(tenant.waiting_for), tenant.uid});
}

json empty_table(std::string_view version, bool columns) {
  json out{{"kind", "Table"},
           {"apiVersion", "meta.k8s.io/" + std::string(version)},
           {"metadata", json::object()},
           {"rows", json::array()}};
  out["columnDefinitions"] = columns ? columns_of() : json::array();
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

json partial_metadata(const api::Tenant& tenant, std::string_view version) {
  auto whole = api::to_json(tenant);
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", "meta.k8s.io/" + std::string(version)},
          {"metadata", std::move(whole["metadata"])}};
}

json table_of(std::span<const api::Tenant> tenants, std::string_view version, RowObject with,
              std::int64_t now, bool columns) {
  auto out = empty_table(version, columns);
  for (const auto& tenant : tenants) {
    json row{{"cells", cells_of(tenant, now)}};
    if (with == RowObject::metadata) row["object"] = partial_metadata(tenant, version);
    if (with == RowObject::object) row["object"] = api::to_json(tenant);
    out["rows"].push_back(std::move(row));
  }
  return out;
}

json table_bookmark(const json& object, std::string_view version, bool columns) {
  auto out = empty_table(version, columns);
  out["rows"].push_back({{"cells", json::array()}, {"object", object}});
  return out;
}

} // namespace zoo::admin
