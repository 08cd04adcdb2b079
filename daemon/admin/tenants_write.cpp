// SPDX-License-Identifier: Apache-2.0
#include "common/api/terms.hpp"
#include "common/base/text.hpp"
#include "daemon/admin/body.hpp"
#include "daemon/admin/fields.hpp"
#include "daemon/admin/patch.hpp"
#include "daemon/admin/tenants.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace zoo::admin {
namespace {

using nlohmann::json;

constexpr int k_patch_attempts = 5; ///< as upstream: conflicts with the controller's status writes

Result<bool> all_is_dry(std::string_view value) {
  if (value == "All") return true;
  return fail(Code::bad_request, "dryRun must be All, not '{}'", value);
}

Result<void> check_uid(const json& object, const api::Tenant& live) {
  const auto* metadata = member(object, "metadata");
  if (!metadata) return {};
  ZOO_TRY(const auto uid, text_member(*metadata, "uid", "metadata.uid"));
  if (uid.empty() || uid == live.uid) return {};
  return fail(
      Code::conflict,
      "Precondition failed: UID in precondition: {}, UID in object meta: {} (the tenant was "
      "deleted and made again since you read it)",
      uid, live.uid);
}

/// The name in the object is the name in the path.
Result<void> check_name(const json& object, const std::string& id) {
  const auto* metadata = member(object, "metadata");
  const auto* name = metadata ? member(*metadata, "name") : nullptr;
  if (!name || !name->is_string() || *name == id) return {};
  return fail(Code::bad_request,
              "the name of the object ({}) does not match the name on the URL ({})",
              name->get<std::string>(), id);
}

} // namespace

Result<TenantApi::WriteOptions> TenantApi::write_options(const Request& request) {
  WriteOptions out;
  ZOO_TRY(out.representation, negotiate(request.headers.get("accept"), true));
  ZOO_TRY(out.row, row_object(request.parameter("includeObject")));
  for (const auto& [key, value] : request.query)
    if (key == "dryRun") {
      ZOO_TRY(out.dry_run, all_is_dry(value));
    }
  return out;
}

Result<TenantApi::Input> TenantApi::accept_object(const Request& request, json object,
                                                  const std::vector<std::string>& duplicates,
                                                  const std::vector<std::string>& stored) {
  Input out;
  ZOO_TRY(const auto wish, field_validation(request.parameter("fieldValidation")));
  ZOO_TRY(out.warnings, judge_fields(wish, object, duplicates, stored));
  scrub(object);
  ZOO_TRY(out.tenant, api::from_json(object));
  ZOO_TRY_VOID(api::terms_of(out.tenant));
  ZOO_TRY_VOID(check_metadata(object));
  for (const char* field : {"finalizers", "ownerReferences"}) {
    const auto* metadata = member(object, "metadata");
    const auto* value = metadata ? member(*metadata, field) : nullptr;
    if (value && !value->empty())
      out.warnings.push_back("metadata." + std::string(field) + " has no effect on a Tenant");
  }
  return out;
}

Answer TenantApi::create(const Request& request) {
  auto answer = try_create(request);
  return answer ? *std::move(answer) : tenant_failure(answer.error(), "");
}

Result<Answer> TenantApi::try_create(const Request& request) {
  ZOO_TRY(const auto options, write_options(request));
  std::vector<std::string> duplicates;
  ZOO_TRY(auto object, parse_body(request.body, request.headers.get("content-type"), duplicates));
  const auto* metadata = member(object, "metadata");
  if (metadata && member(*metadata, "generateName") && !member(*metadata, "name"))
    return fail(Code::invalid,
                "metadata.name is required: it is the tenant's ID, six characters of "
                "a-z and 0-9; zood does not make one up");
  const auto* name = metadata ? member(*metadata, "name") : nullptr;
  const auto named = name && name->is_string() ? name->get<std::string>() : std::string();
  auto accepted = accept_object(request, std::move(object), duplicates);
  if (!accepted) return tenant_failure(accepted.error(), named);
  auto input = *std::move(accepted);
  if (input.tenant.resource_version != 0)
    return fail(Code::bad_request, "resourceVersion should not be set on objects to be created");
  const auto id = input.tenant.id;
  auto created = service_.create(std::move(input.tenant), options.dry_run);
  if (!created) return tenant_failure(created.error(), id);
  return show(201, *created, options, std::move(input.warnings));
}

Answer TenantApi::update(const Request& request, const std::string& id) {
  auto answer = try_update(request, id);
  return answer ? *std::move(answer) : tenant_failure(answer.error(), id);
}

Result<Answer> TenantApi::try_update(const Request& request, const std::string& id) {
  ZOO_TRY(const auto options, write_options(request));
  std::vector<std::string> duplicates;
  ZOO_TRY(auto object, parse_body(request.body, request.headers.get("content-type"), duplicates));
  ZOO_TRY_VOID(check_name(object, id));
  ZOO_TRY(const auto live, service_.get(id));
  const json before = api::to_json(live);
  const auto* status = member(before, "status"); // which who replaces has read, and does not write
  ZOO_TRY(auto input,
          accept_object(request, object, duplicates,
                        unknown_fields(status == nullptr ? json() : json{{"status", *status}})));
  ZOO_TRY_VOID(check_uid(object, live));
  input.tenant.id = id;
  // A write without resourceVersion must still not land on a tenant that was made again meanwhile.
  if (input.tenant.resource_version == 0 && !input.tenant.uid.empty())
    input.tenant.resource_version = live.resource_version;
  ZOO_TRY(const auto updated, service_.update(std::move(input.tenant), options.dry_run));
  return show(200, updated, options, std::move(input.warnings));
}

Answer TenantApi::patch(const Request& request, const std::string& id) {
  const auto type = media_type(request.headers.get("content-type"));
  constexpr std::array<std::string_view, 3> known = {"application/json-patch+json",
                                                     "application/merge-patch+json",
                                                     "application/apply-patch+yaml"};
  if (std::find(known.begin(), known.end(), type) == known.end())
    return tenant_failure(
        Error(Code::unsupported_media_type,
              fmt::format("the body of the request was in an unknown format - accepted media types "
                          "include: {} (got '{}')",
                          fmt::join(known, ", "), type)),
        id);
  auto answer = try_patch(request, id);
  return answer ? *std::move(answer) : tenant_failure(answer.error(), id);
}

Result<Answer> TenantApi::try_patch(const Request& request, const std::string& id) {
  ZOO_TRY(const auto options, write_options(request));
  const auto type = media_type(request.headers.get("content-type"));
  if (type == "application/apply-patch+yaml") return try_apply(request, id, options);

  std::vector<std::string> duplicates;
  ZOO_TRY(const auto patch, parse_body(request.body, type, duplicates));
  const auto said = unknown_fields(patch);
  for (int attempt = 1;; ++attempt) {
    ZOO_TRY(const auto live, service_.get(id));
    const auto before = api::to_json(live);
    ZOO_TRY(auto after, type == "application/json-patch+json" ? json_patch(before, patch)
                                                              : merge_patch(before, patch));
    ZOO_TRY_VOID(check_name(after, id));
    ZOO_TRY_VOID(check_uid(after, live));
    after["status"] = before.contains("status") ? before["status"] : json::object();
    // What a merge patch says itself is judged, be it there before.
    ZOO_TRY(auto input,
            accept_object(request, after, duplicates, without(unknown_fields(before), said)));
    if (api::to_json(input.tenant) == before)
      return show(200, live, options, std::move(input.warnings));
    input.tenant.id = id;
    const bool own_version = input.tenant.resource_version != 0 &&
                             input.tenant.resource_version != live.resource_version;
    if (input.tenant.resource_version == 0) input.tenant.resource_version = live.resource_version;
    auto updated = service_.update(std::move(input.tenant), options.dry_run);
    if (updated) return show(200, *updated, options, std::move(input.warnings));
    if (updated.error().code() != Code::conflict || own_version || attempt == k_patch_attempts)
      return fail(std::move(updated).error());
  }
}

Result<Answer> TenantApi::try_apply(const Request& request, const std::string& id,
                                    const WriteOptions& options) {
  if (request.parameter("fieldManager").empty())
    return fail(Code::bad_request, "PatchOptions: fieldManager is required for apply patch");
  std::vector<std::string> duplicates;
  ZOO_TRY(const auto applied,
          parse_body(request.body, request.headers.get("content-type"), duplicates));
  if (!applied.is_object())
    return fail(Code::bad_request, "the applied configuration is not an object");
  ZOO_TRY_VOID(check_name(applied, id));
  if (const auto* metadata = member(applied, "metadata");
      metadata && member(*metadata, "managedFields") && !metadata->at("managedFields").empty())
    return fail(Code::bad_request, "metadata.managedFields must be nil");
  for (int attempt = 1;; ++attempt) {
    auto live = service_.get(id);
    if (!live && live.error().code() != Code::not_found) return fail(std::move(live).error());
    ZOO_TRY(auto input, accept_object(request, applied, duplicates));
    if (!live) {
      if (!input.tenant.uid.empty() || input.tenant.resource_version != 0)
        return fail(Code::conflict,
                    "tenant \"{}\" is gone, and the applied object names its uid or "
                    "resourceVersion",
                    id);
      input.tenant.id = id;
      auto created = service_.create(std::move(input.tenant), options.dry_run);
      if (created) return show(201, *created, options, std::move(input.warnings));
      if (created.error().code() != Code::already_exists || attempt == k_patch_attempts)
        return fail(std::move(created).error());
      continue;
    }
    ZOO_TRY_VOID(check_uid(applied, *live));
    const auto before = api::to_json(*live);
    auto wanted = applied;
    wanted.erase("status");
    scrub(wanted);
    ZOO_TRY(const auto after, apply_patch(before, wanted));
    // What is applied was judged above.
    ZOO_TRY(auto merged, accept_object(request, after, {}, unknown_fields(after)));
    if (api::to_json(merged.tenant) == before)
      return show(200, *live, options, std::move(input.warnings));
    merged.tenant.id = id;
    auto updated = service_.update(std::move(merged.tenant), options.dry_run);
    if (updated) return show(200, *updated, options, std::move(input.warnings));
    if (updated.error().code() != Code::conflict || input.tenant.resource_version != 0 ||
        attempt == k_patch_attempts)
      return fail(std::move(updated).error());
  }
}

Answer TenantApi::remove(const Request& request, const std::string& id) {
  auto answer = try_remove(request, id);
  return answer ? *std::move(answer) : tenant_failure(answer.error(), id);
}

Result<Answer> TenantApi::try_remove(const Request& request, const std::string& id) {
  ZOO_TRY(auto options, write_options(request));
  options.representation.shape = Shape::object;
  tenants::Preconditions expected;
  if (!text::trim(request.body).empty()) {
    std::vector<std::string> duplicates;
    ZOO_TRY(const auto body,
            parse_body(request.body, request.headers.get("content-type"), duplicates));
    if (!body.is_object()) return fail(Code::bad_request, "the body of a DELETE is DeleteOptions");
    if (const auto* conditions = member(body, "preconditions")) {
      ZOO_TRY(expected.uid, text_member(*conditions, "uid", "preconditions.uid"));
      ZOO_TRY(expected.resource_version,
              text_member(*conditions, "resourceVersion", "preconditions.resourceVersion"));
    }
    if (const auto* dry = member(body, "dryRun"); dry && dry->is_array()) {
      for (const auto& each : *dry) {
        ZOO_TRY(options.dry_run, all_is_dry(each.is_string() ? each.get<std::string>() : ""));
      }
    }
  }
  ZOO_TRY(const auto removed, service_.remove(id, expected, options.dry_run));
  return show(200, removed, options);
}

} // namespace zoo::admin
