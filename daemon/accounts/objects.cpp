// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/objects.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace zoo::accounts {
namespace {

using nlohmann::json;

const std::string k_tenancy_version = std::string(k_tenancy_group) + "/" + std::string(k_version);
const std::string k_config_version = std::string(k_config_group) + "/" + std::string(k_version);

json parsed(const std::string& text) {
  auto out = json::parse(text, nullptr, false);
  return out.is_object() ? std::move(out) : json::object();
}

/// Who has set a field stands there by group and version, too.
void rename_owners(json& metadata, const std::string& from, const std::string& to) {
  const auto owners = metadata.find("managedFields");
  if (owners == metadata.end() || !owners->is_array()) return;
  for (auto& owner : *owners) {
    if (owner.is_object() && owner.value("apiVersion", json()) == from) owner["apiVersion"] = to;
  }
}

/// The member `name` of an object, moved out of it; null if there is none.
json take(json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(name);
  if (at == object.end()) return nullptr;
  auto out = std::move(*at);
  object.erase(at);
  return out;
}

/// In a set of fields (`f:metadata` and so on) the label of the owner is `spec.account`, or back.
void move_owner_field(json& fields, bool outward) {
  if (!fields.is_object()) return;
  const auto label = "f:" + std::string(k_account_label);
  if (outward) {
    auto& metadata = fields["f:metadata"];
    if (metadata.is_object() && metadata.contains("f:labels") &&
        !take(metadata["f:labels"], label).is_null()) {
      auto& spec = fields["f:spec"];
      if (!spec.is_object()) spec = json::object();
      spec["f:account"] = json::object();
      if (metadata["f:labels"].empty()) metadata.erase("f:labels");
    }
    if (metadata.is_null() || metadata.empty()) fields.erase("f:metadata");
    return;
  }
  if (!fields.contains("f:spec") || take(fields["f:spec"], "f:account").is_null()) return;
  if (fields["f:spec"].empty()) fields.erase("f:spec");
  auto& metadata = fields["f:metadata"];
  if (!metadata.is_object()) metadata = json::object();
  auto& labels = metadata["f:labels"];
  if (!labels.is_object()) labels = json::object();
  labels[label] = json::object();
}

void move_owner_fields(json& metadata, bool outward) {
  const auto owners = metadata.find("managedFields");
  if (owners == metadata.end() || !owners->is_array()) return;
  for (auto& owner : *owners) {
    if (owner.is_object() && owner.contains("fieldsV1"))
      move_owner_field(owner["fieldsV1"], outward);
  }
}

/// What is stored in config.kiosk.sh, as tenancy.kiosk.sh shows it.
json in_tenancy(const std::string& stored, std::string_view kind) {
  auto out = parsed(stored);
  out["apiVersion"] = k_tenancy_version;
  out["kind"] = kind;
  if (out["metadata"].is_object())
    rename_owners(out["metadata"], k_config_version, k_tenancy_version);
  return out;
}

} // namespace

json tenancy_space(const Space& space) {
  auto stored = parsed(space.object);
  auto metadata = take(stored, "metadata");
  if (!metadata.is_object()) metadata = json::object();
  if (const auto labels = metadata.find("labels"); labels != metadata.end()) {
    take(*labels, k_account_label);
    if (labels->empty()) metadata.erase(labels);
  }
  if (const auto notes = metadata.find("annotations"); notes != metadata.end()) {
    take(*notes, k_initializing);
    take(*notes, k_space_request);
    if (notes->empty()) metadata.erase(notes);
  }
  rename_owners(metadata, "v1", k_tenancy_version);
  move_owner_fields(metadata, true);
  json spec = json::object();
  if (!space.account.empty()) spec["account"] = space.account;
  if (auto finalizers = take(stored["spec"], "finalizers"); finalizers.is_array())
    spec["finalizers"] = std::move(finalizers);
  json status = json::object();
  if (space.initializing) {
    status["phase"] = "Initializing";
  } else if (!space.phase.empty()) {
    status["phase"] = space.phase;
  }
  return {{"apiVersion", k_tenancy_version},
          {"kind", "Space"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

json core_namespace(const Space& space) {
  auto out = parsed(space.object);
  out["apiVersion"] = "v1"; // the items of a list have neither
  out["kind"] = "Namespace";
  return out;
}

json tenancy_account(const Account& account) { return in_tenancy(account.object, "Account"); }

json tenancy_quota(const Quota& quota) { return in_tenancy(quota.object, "AccountQuota"); }

json tenancy_instance(const SpaceInstance& instance) {
  return in_tenancy(instance.object, "TemplateInstance");
}

json namespace_of(const json& space) {
  json metadata = space.value("metadata", json::object());
  if (!metadata.is_object()) metadata = json::object();
  rename_owners(metadata, k_tenancy_version, "v1");
  move_owner_fields(metadata, false);
  const auto spec = space.value("spec", json::object());
  json out = {{"apiVersion", "v1"}, {"kind", "Namespace"}};
  if (spec.is_object()) {
    if (const auto account = spec.find("account");
        account != spec.end() && account->is_string() &&
        !account->get_ref<const std::string&>().empty()) {
      auto& labels = metadata["labels"];
      if (!labels.is_object()) labels = json::object();
      labels[std::string(k_account_label)] = *account;
    }
    if (const auto finalizers = spec.find("finalizers"); finalizers != spec.end())
      out["spec"]["finalizers"] = *finalizers;
  }
  out["metadata"] = std::move(metadata);
  return out;
}

json in_config(json object) {
  object["apiVersion"] = k_config_version;
  if (object.contains("metadata") && object["metadata"].is_object())
    rename_owners(object["metadata"], k_tenancy_version, k_config_version);
  return object;
}

} // namespace zoo::accounts
