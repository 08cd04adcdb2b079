// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

namespace zoo::api {
namespace {

using Json = nlohmann::json;

std::string_view words_of(const Json& value) {
  switch (value.type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::boolean:
    return "true or false";
  case Json::value_t::string:
    return "a string";
  case Json::value_t::array:
    return "a list";
  case Json::value_t::object:
    return "a mapping";
  default:
    return "a number";
  }
}

tl::unexpected<Error> wrong(std::string_view path, std::string_view wanted, const Json& value) {
  return fail(Code::invalid, "{} must be {}, not {}", path, wanted, words_of(value));
}

/// Takes the members of one object one by one; what is left over is kept as it is.
class Reader {
public:
  Reader(Json object, std::string path) : object_(std::move(object)), path_(std::move(path)) {}

  Result<std::string> text(const char* key) {
    ZOO_TRY(const auto value, take(key, Json::value_t::string, "a string"));
    return value.is_null() ? std::string() : value.get<std::string>();
  }

  Result<bool> flag(const char* key, bool without = false) {
    ZOO_TRY(const auto value, take(key, Json::value_t::boolean, "true or false"));
    return value.is_null() ? without : value.get<bool>();
  }

  /// An object as text; empty if it is not there.
  Result<std::string> opaque(const char* key) {
    ZOO_TRY(const auto value, take(key, Json::value_t::object, "a mapping"));
    return value.is_null() ? std::string() : dumped(value);
  }

  Result<std::int64_t> integer(const char* key) {
    auto value = remove(key);
    if (value.is_null()) return 0;
    const bool fits = value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX
                                                 : value.is_number_integer();
    if (!fits) {
      return wrong(path(key), "an integer", value);
    }
    return value.get<std::int64_t>();
  }

  Result<std::map<std::string, std::string>> texts(const char* key) {
    std::map<std::string, std::string> out;
    ZOO_TRY(const auto value, take(key, Json::value_t::object, "a mapping of strings"));
    if (value.is_null()) return out;
    for (const auto& [name, each] : value.items()) {
      if (!each.is_string()) {
        return fail(Code::invalid, "{}['{}'] must be a string (put it in quotes), not {}",
                    path(key), name, words_of(each));
      }
      out.emplace(name, each.get<std::string>());
    }
    return out;
  }

  Result<Json> take(const char* key, Json::value_t type, std::string_view wanted) {
    auto value = remove(key);
    if (!value.is_null() && value.type() != type) return wrong(path(key), wanted, value);
    return value;
  }

  Json remove(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end()) return nullptr;
    auto value = std::move(*found);
    object_.erase(found);
    return value;
  }

  std::string path(const char* key) const { return path_.empty() ? key : path_ + "." + key; }
  std::string rest() const { return object_.empty() ? std::string() : dumped(object_); }

private:
  static std::string dumped(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  Json object_;
  std::string path_;
};

Result<void> read_metadata(Reader& metadata, Tenant& out) {
  auto name = metadata.remove("name");
  if (name.is_number()) {
    return fail(Code::invalid,
                "metadata.name must be a string, not the number {}: quote it (name: \"{}\")",
                name.dump(), name.is_number_float() ? std::string("ID") : name.dump());
  }
  if (name.is_null()) return fail(Code::invalid, "metadata.name is missing: it is the tenant's ID");
  if (!name.is_string()) {
    return fail(Code::invalid, "metadata.name must be a string, not {}: quote it", words_of(name));
  }
  out.id = name.get<std::string>();
  ZOO_TRY(out.uid, metadata.text("uid"));
  ZOO_TRY(const auto revision, metadata.text("resourceVersion"));
  if (!revision.empty()) {
    const auto [end, error] =
        std::from_chars(revision.data(), revision.data() + revision.size(), out.resource_version);
    if (error != std::errc() || end != revision.data() + revision.size() ||
        out.resource_version < 0) {
      return fail(Code::invalid, "metadata.resourceVersion '{}' is none of zood's", revision);
    }
  }
  ZOO_TRY(out.generation, metadata.integer("generation"));
  ZOO_TRY(out.creation_timestamp, metadata.text("creationTimestamp"));
  ZOO_TRY(out.deletion_timestamp, metadata.text("deletionTimestamp"));
  ZOO_TRY(out.labels, metadata.texts("labels"));
  ZOO_TRY(out.annotations, metadata.texts("annotations"));
  (void)metadata.remove("namespace"); // a Tenant has none; records of before may say one
  out.unknown_metadata_json = metadata.rest();
  return {};
}

Result<void> read_audit(Reader& spec, Tenant& out) {
  ZOO_TRY(auto object, spec.take("audit", Json::value_t::object, "a mapping"));
  if (object.is_null()) return {};
  Reader reader(std::move(object), "spec.audit");
  ZOO_TRY(const auto level, reader.text("level"));
  if (!level.empty()) {
    out.audit = audit_level(level);
    if (!out.audit) {
      return fail(Code::invalid, "spec.audit.level must be none, denied, writes or all, not '{}'",
                  level);
    }
  }
  if (const auto rest = reader.rest(); !rest.empty()) {
    return fail(Code::invalid, "spec.audit has a level and nothing else, not {}", rest);
  }
  return {};
}

Result<void> read_inside(Reader& spec, Tenant& out) {
  ZOO_TRY(auto object, spec.take("inside", Json::value_t::object, "a mapping"));
  if (object.is_null()) return {};
  Reader reader(std::move(object), "spec.inside");
  ZOO_TRY(out.inside.api, reader.flag("api", true));
  ZOO_TRY(out.inside.dns, reader.flag("dns", true));
  if (const auto rest = reader.rest(); !rest.empty()) {
    return fail(Code::invalid, "spec.inside has api, dns and nothing else, not {}", rest);
  }
  return {};
}

Result<void> read_spec(Reader& spec, Tenant& out) {
  // KubeZoo's manifests carry an id that nothing reads: kept as it is, but it must be its int32.
  auto id = spec.remove("id");
  if (!id.is_null() && !id.is_number_integer()) return wrong("spec.id", "an integer", id);
  ZOO_TRY(out.display_name, spec.text("displayName"));
  ZOO_TRY(out.account, spec.text("account"));
  ZOO_TRY(out.suspended, spec.flag("suspended"));
  ZOO_TRY_VOID(read_audit(spec, out));
  ZOO_TRY(out.webhooks, spec.text("webhooks"));
  if (!out.webhooks.empty() && out.webhooks != k_webhooks_relay &&
      out.webhooks != k_webhooks_direct)
    return fail(Code::invalid, "spec.webhooks must be relay or direct, not '{}'", out.webhooks);
  ZOO_TRY_VOID(read_inside(spec, out));
  ZOO_TRY(const auto of_class, spec.text("class"));
  if (!of_class.empty() && of_class != k_cluster_class)
    return fail(Code::invalid, "spec.class must be cluster or nothing, not '{}'", of_class);
  out.of_cluster = !of_class.empty();
  ZOO_TRY(out.quota_json, spec.opaque("quota"));
  ZOO_TRY(out.flow_json, spec.opaque("flow"));
  ZOO_TRY(out.guards_json, spec.opaque("guards"));
  ZOO_TRY(const auto templates, spec.take("templates", Json::value_t::array, "a list"));
  if (!templates.empty())
    out.templates_json = templates.dump(-1, ' ', false, Json::error_handler_t::replace);
  out.unknown_spec_json = spec.rest();
  if (!id.is_null()) {
    auto kept = out.unknown_spec_json.empty() ? Json::object() : Json::parse(out.unknown_spec_json);
    kept["id"] = std::move(id);
    out.unknown_spec_json = kept.dump();
  }
  return {};
}

Result<void> read_conditions(Reader& status, Tenant& out) {
  ZOO_TRY(const auto list, status.take("conditions", Json::value_t::array, "a list"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto path = fmt::format("status.conditions[{}]", i);
    if (!list[i].is_object()) return wrong(path, "a mapping", list[i]);
    Reader reader(list[i], path);
    Condition condition;
    ZOO_TRY(condition.type, reader.text("type"));
    ZOO_TRY(condition.status, reader.text("status"));
    ZOO_TRY(condition.reason, reader.text("reason"));
    ZOO_TRY(condition.message, reader.text("message"));
    ZOO_TRY(condition.last_transition_time, reader.text("lastTransitionTime"));
    if (condition.type.empty()) return fail(Code::invalid, "{}.type is missing", path);
    if (condition.status != "True" && condition.status != "False" &&
        condition.status != "Unknown") {
      return fail(Code::invalid, "{}.status must be \"True\", \"False\" or \"Unknown\"", path);
    }
    if (out.condition(condition.type) != nullptr) {
      return fail(Code::invalid, "{}.type '{}' occurs twice", path, condition.type);
    }
    out.conditions.push_back(std::move(condition));
  }
  return {};
}

Result<void> read_credentials(Reader& status, Tenant& out) {
  ZOO_TRY(auto object, status.take("credentials", Json::value_t::object, "a mapping"));
  if (object.is_null()) return {};
  Reader reader(std::move(object), "status.credentials");
  ZOO_TRY(out.credentials.epoch, reader.integer("epoch"));
  ZOO_TRY(out.credentials.not_before, reader.text("notBefore"));
  ZOO_TRY(const auto list, reader.take("revoked", Json::value_t::array, "a list"));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto path = fmt::format("status.credentials.revoked[{}]", i);
    if (!list[i].is_object()) return wrong(path, "a mapping", list[i]);
    Reader each(list[i], path);
    RevokedCertificate revoked;
    ZOO_TRY(revoked.serial, each.text("serial"));
    ZOO_TRY(revoked.expiry, each.text("expiry"));
    out.credentials.revoked.push_back(std::move(revoked));
  }
  return {};
}

Result<void> read_status(Reader& status, Tenant& out) {
  ZOO_TRY(const auto phase, status.text("phase"));
  for (const auto each : {Phase::none, Phase::pending, Phase::ready, Phase::suspended,
                          Phase::deleting, Phase::failed}) {
    if (phase_name(each) == phase) {
      out.phase = each;
      break;
    }
    if (each == Phase::failed) {
      return fail(Code::invalid,
                  "status.phase '{}' is none of Pending, Ready, Suspended, "
                  "Deleting, Failed",
                  phase);
    }
  }
  ZOO_TRY_VOID(read_conditions(status, out));
  ZOO_TRY_VOID(read_credentials(status, out));
  ZOO_TRY(out.certificate_expiry, status.text("certificateExpiry"));
  ZOO_TRY(out.waiting_for, status.text("waitingFor"));
  ZOO_TRY(out.had_webhooks, status.flag("hadWebhooks"));
  ZOO_TRY(out.held_until, status.text("heldUntil"));
  ZOO_TRY(out.observed_generation, status.integer("observedGeneration"));
  status.remove("usage");
  out.unknown_status_json = status.rest();
  return {};
}

Json kept(const std::string& text) {
  if (text.empty()) return Json::object();
  auto json = Json::parse(text, nullptr, false);
  return json.is_object() ? json : Json::object();
}

void put(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

} // namespace

Json to_json(const Tenant& tenant) {
  auto metadata = kept(tenant.unknown_metadata_json);
  metadata["name"] = tenant.id;
  put(metadata, "uid", tenant.uid);
  if (tenant.resource_version != 0) {
    metadata["resourceVersion"] = std::to_string(tenant.resource_version);
  }
  if (tenant.generation != 0) metadata["generation"] = tenant.generation;
  put(metadata, "creationTimestamp", tenant.creation_timestamp);
  put(metadata, "deletionTimestamp", tenant.deletion_timestamp);
  if (!tenant.labels.empty()) metadata["labels"] = tenant.labels;
  if (!tenant.annotations.empty()) metadata["annotations"] = tenant.annotations;

  auto spec = kept(tenant.unknown_spec_json);
  put(spec, "displayName", tenant.display_name);
  put(spec, "account", tenant.account);
  if (tenant.suspended) spec["suspended"] = true;
  if (tenant.audit) spec["audit"] = {{"level", audit_level_name(*tenant.audit)}};
  put(spec, "webhooks", tenant.webhooks);
  if (tenant.of_cluster) spec["class"] = k_cluster_class;
  if (!tenant.inside.api) spec["inside"]["api"] = false;
  if (!tenant.inside.dns) spec["inside"]["dns"] = false;
  if (!tenant.quota_json.empty()) spec["quota"] = kept(tenant.quota_json);
  if (!tenant.flow_json.empty()) spec["flow"] = kept(tenant.flow_json);
  if (!tenant.guards_json.empty()) spec["guards"] = kept(tenant.guards_json);
  if (!tenant.templates_json.empty())
    if (auto list = Json::parse(tenant.templates_json, nullptr, false); list.is_array())
      spec["templates"] = std::move(list);

  auto status = kept(tenant.unknown_status_json);
  put(status, "phase", std::string(phase_name(tenant.phase)));
  for (const auto& condition : tenant.conditions) {
    Json each = {{"type", condition.type}, {"status", condition.status}};
    put(each, "reason", condition.reason);
    put(each, "message", condition.message);
    put(each, "lastTransitionTime", condition.last_transition_time);
    status["conditions"].push_back(std::move(each));
  }
  put(status, "certificateExpiry", tenant.certificate_expiry);
  if (const auto& credentials = tenant.credentials; credentials != Credentials{}) {
    Json each = {{"epoch", credentials.epoch}};
    put(each, "notBefore", credentials.not_before);
    for (const auto& revoked : credentials.revoked)
      each["revoked"].push_back({{"serial", revoked.serial}, {"expiry", revoked.expiry}});
    status["credentials"] = std::move(each);
  }
  put(status, "waitingFor", tenant.waiting_for);
  if (tenant.had_webhooks) status["hadWebhooks"] = true;
  put(status, "heldUntil", tenant.held_until);
  if (tenant.observed_generation != 0) status["observedGeneration"] = tenant.observed_generation;
  if (!tenant.usage_json.empty()) status["usage"] = kept(tenant.usage_json);

  Json out;
  out["apiVersion"] = k_tenant_api_version;
  out["kind"] = k_tenant_kind;
  out["metadata"] = std::move(metadata);
  out["spec"] = std::move(spec);
  out["status"] = std::move(status);
  return out;
}

Result<Tenant> from_json(const Json& object) {
  if (!object.is_object()) {
    return fail(Code::bad_request, "a Tenant must be a mapping, not {}", words_of(object));
  }
  Reader top(object, "");
  ZOO_TRY(const auto api_version, top.text("apiVersion"));
  ZOO_TRY(const auto kind, top.text("kind"));
  if (api_version != k_tenant_api_version || kind != k_tenant_kind) {
    return fail(Code::bad_request,
                "this is no Tenant: apiVersion must be {} and kind {}, not '{}' "
                "and '{}'",
                k_tenant_api_version, k_tenant_kind, api_version, kind);
  }
  Tenant out;
  const auto section = [&](const char* key, auto read) -> Result<void> {
    ZOO_TRY(auto json, top.take(key, Json::value_t::object, "a mapping"));
    Reader reader(json.is_null() ? Json::object() : std::move(json), key);
    return read(reader, out);
  };
  ZOO_TRY_VOID(section("metadata", read_metadata));
  ZOO_TRY_VOID(section("spec", read_spec));
  ZOO_TRY_VOID(section("status", read_status));
  if (const auto rest = kept(top.rest()); !rest.empty()) {
    return fail(Code::invalid, "unknown field '{}' beside metadata, spec and status",
                rest.begin().key());
  }
  return out;
}

} // namespace zoo::api
