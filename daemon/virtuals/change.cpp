// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/change.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/json_patch.hpp"
#include "daemon/resources/body.hpp"
#include "daemon/resources/fields.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace zoo::virtuals {
namespace {

using nlohmann::json;
using translate::BodyFormat;

constexpr std::size_t k_longest_name = 246; ///< 253 less the prefix, with which upstream checks it

bool too_deep(const json& value, std::size_t left) {
  if (left == 0) return true;
  if (!value.is_structured()) return false;
  for (const auto& each : value)
    if (too_deep(each, left - 1)) return true;
  return false;
}

Result<json> parse(const Body& body) {
  if (body.text.size() > k_max_body_bytes)
    return fail(Code::too_large, "the body has {} bytes; of objects that zood keeps at most {}",
                body.text.size(), k_max_body_bytes);
  std::vector<std::string> repeated; // upstream tells of them
  ZOO_TRY(auto out, resources::parse_body(body.text, "application/json", repeated));
  ZOO_TRY_VOID(resources::check_lists(out, k_lists));
  ZOO_TRY_VOID(resources::check_fields(out, k_lists));
  return out;
}

/// What a body leaves out, its path says (k8s.io/apimachinery, the JSON serializer's defaults).
Result<void> check_type(const Kind& kind, json& object) {
  if (!object.is_object()) return fail(Code::bad_request, "the body is not an object");
  if (!object.contains("apiVersion") || object["apiVersion"] == "")
    object["apiVersion"] = kind.api_version();
  if (!object.contains("kind") || object["kind"] == "") object["kind"] = kind.kind;
  const auto version = member(object, "apiVersion"), name = member(object, "kind");
  if (version != kind.api_version())
    return fail(Code::bad_request,
                "the API version in the data ({}) does not match the expected API version ({})",
                version, kind.api_version());
  if (name != kind.kind)
    return fail(Code::bad_request, "{} in version \"{}\" cannot be handled as a {}: no kind \"{}\"",
                name, kind.version, kind.kind, name);
  if (object.contains("metadata") && !object["metadata"].is_object())
    return fail(Code::bad_request, "metadata is not an object");
  return {};
}

/// DNS subdomain, as for every name of these kinds; upstream checks the rest.
bool name_can_be(std::string_view name) {
  return !name.empty() && name.size() <= k_longest_name &&
         name.find_first_of("/%") == std::string_view::npos && name != "." && name != ".." &&
         is_utf8(name);
}

Result<json> patched(const json& old, const Body& body) {
  ZOO_TRY(const auto patch, parse(body));
  auto out = body.format == BodyFormat::json_patch ? kube::json_patch(old, patch, k_max_body_bytes)
             : body.format == BodyFormat::merge_patch
                 ? kube::merge_patch(old, patch)
                 : resources::strategic_merge(old, patch, k_lists);
  if (!out) return out;
  if (!out->is_object() || too_deep(*out, resources::k_depth_limit + 8))
    return fail(Code::bad_request, "the patch does not make an object");
  return out;
}

Result<void> check_identity(const json& old, const json& now) {
  const auto& before = metadata_of(old);
  const auto& after = metadata_of(now);
  if (const auto name = member(after, "name"); name != member(before, "name"))
    return fail(Code::bad_request,
                "the name of the object ({}) does not match the name on the URL ({})", name,
                member(before, "name"));
  if (!member(after, "namespace").empty())
    return fail(Code::bad_request, "the namespace of the object does not match the request");
  if (const auto uid = member(after, "uid"); !uid.empty() && uid != member(before, "uid"))
    return fail(Code::conflict,
                "Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                member(before, "uid"));
  if (const auto version = member(after, "resourceVersion");
      !version.empty() && version != "0" && version != member(before, "resourceVersion"))
    return fail(Code::conflict, "{}", k_modified);
  return {};
}

} // namespace

std::string member(const json& object, std::string_view name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& metadata_of(const json& object) {
  static const json none = json::object();
  if (!object.is_object()) return none;
  const auto found = object.find("metadata");
  return found != object.end() && found->is_object() ? *found : none;
}

bool has_finalizers(const json& object) {
  const auto found = metadata_of(object).find("finalizers");
  return found != metadata_of(object).end() && found->is_array() && !found->empty();
}

Result<json> created(const Kind& kind, const Body& body, std::string_view path_name,
                     const Writer& writer) {
  ZOO_TRY(auto object, parse(body));
  ZOO_TRY_VOID(check_type(kind, object));
  const auto given = metadata_of(object);
  auto name = member(given, "name");
  if (!path_name.empty() && !name.empty() && name != path_name)
    return fail(Code::bad_request,
                "the name of the object ({}) does not match the name on the URL ({})", name,
                path_name);
  if (!path_name.empty()) name = path_name;
  if (const auto start = member(given, "generateName"); name.empty() && !start.empty())
    name = resources::generated_name(start, k_longest_name);
  if (name.empty())
    return fail(Code::invalid,
                "{} \"\" is invalid: metadata.name: Required value: name or "
                "generateName is required",
                kind.kind);
  if (!name_can_be(name))
    return fail(Code::invalid,
                "{} {} is invalid: metadata.name: Invalid value: {}: must be a DNS subdomain of "
                "at most {} characters",
                kind.kind, json_quote(name), json_quote(name), k_longest_name);
  if (!member(given, "namespace").empty())
    return fail(Code::bad_request, "the namespace of the object does not match the request");
  if (!member(given, "resourceVersion").empty())
    return fail(Code::bad_request, "resourceVersion should not be set on objects to be created");
  json metadata{{"name", name},
                {"uid", crypto::uuid_v4()},
                {"creationTimestamp", writer.time},
                {"generation", 1}};
  for (const auto* each :
       {"generateName", "labels", "annotations", "finalizers", "ownerReferences"})
    if (given.contains(each) && !given[each].is_null()) metadata[each] = given[each];
  object["metadata"] = std::move(metadata);
  if (kind.has_status && (!kind.status_on_create || !object.contains("status")))
    object["status"] = json::object();
  return object;
}

Result<json> changed(const Kind& kind, const json& old, const Body& body, const Writer& writer,
                     bool force) {
  json now;
  if (body.format == BodyFormat::apply_patch) {
    ZOO_TRY(auto config, parse(body));
    ZOO_TRY_VOID(check_type(kind, config));
    if (!metadata_of(config).value("managedFields", json::array()).empty())
      return fail(Code::bad_request, "metadata.managedFields must be nil");
    if (!member(metadata_of(config), "name").empty() || member(metadata_of(config), "uid") != "" ||
        member(metadata_of(config), "resourceVersion") != "") {
      auto named = config;
      named["metadata"]["name"] =
          metadata_of(config).value("name", json(member(metadata_of(old), "name")));
      ZOO_TRY_VOID(check_identity(old, named));
    }
    ZOO_TRY(now, apply(old, config, writer, force));
    resources::keep_servers_metadata(now, old, {"resourceVersion", "namespace"});
  } else {
    if (body.format == BodyFormat::json || body.format == BodyFormat::yaml) {
      ZOO_TRY(now, parse(body));
      ZOO_TRY_VOID(check_type(kind, now));
      const auto version = member(metadata_of(now), "resourceVersion");
      if (!kind.unconditional && (version.empty() || version == "0"))
        return fail(Code::invalid,
                    "{} {} is invalid: metadata.resourceVersion: Invalid value: 0: must be "
                    "specified for an update",
                    kind.kind, json_quote(member(metadata_of(old), "name")));
    } else {
      ZOO_TRY(now, patched(old, body));
      ZOO_TRY_VOID(resources::check_fields(now, k_lists));
      ZOO_TRY_VOID(check_type(kind, now));
    }
    ZOO_TRY_VOID(check_identity(old, now));
    resources::keep_servers_metadata(now, old, {"resourceVersion", "namespace", "managedFields"});
  }
  if (writer.status) {
    auto whole = old;
    whole["status"] = now.value("status", json::object());
    whole["metadata"]["managedFields"] = metadata_of(now).value("managedFields", json::array());
    now = std::move(whole);
    const auto& conditions =
        now["status"].is_object() ? now["status"].value("conditions", json::array()) : json();
    if (!now["status"].is_object() || !conditions.is_array())
      return fail(Code::bad_request, "status is not what a {} has", kind.kind);
  } else if (old.contains("status")) {
    now["status"] = old["status"];
  } else {
    now.erase("status");
  }
  if (!member(metadata_of(old), "deletionTimestamp").empty() && has_finalizers(now)) {
    const auto before = metadata_of(old).value("finalizers", json::array());
    for (const auto& each : now["metadata"]["finalizers"])
      if (std::find(before.begin(), before.end(), each) == before.end())
        return fail(Code::invalid,
                    "{} {} is invalid: metadata.finalizers: Forbidden: no new finalizers can be "
                    "added if the object is being deleted",
                    kind.kind, json_quote(member(metadata_of(old), "name")));
  }
  for (const auto* list : {"finalizers", "ownerReferences", "labels", "annotations"}) {
    const auto found = now["metadata"].find(list);
    if (found != now["metadata"].end() && found->empty()) now["metadata"].erase(found);
  }
  return now;
}

void settle(const json& old, json& now, const Writer& writer, bool applied) {
  // Upstream warned of what no schema has, and dropped it; so do we.
  const auto keep = [](json& object, std::initializer_list<std::string_view> known) {
    for (auto each = object.begin(); each != object.end();)
      each = std::find(known.begin(), known.end(), each.key()) == known.end() ? object.erase(each)
                                                                              : std::next(each);
  };
  keep(now, {"apiVersion", "kind", "metadata", "spec", "status"});
  keep(now["metadata"],
       {"name", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
        "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations",
        "ownerReferences", "finalizers", "managedFields"});
  const bool moved = !old.is_null() && old.value("spec", json()) != now.value("spec", json());
  if (moved)
    now["metadata"]["generation"] = metadata_of(old).value("generation", std::int64_t{1}) + 1;
  if (!applied) own_update(old, now, writer);
}

bool set_condition(json& object, std::string_view type, std::string_view status,
                   std::string_view reason, const std::string& message, const Writer& writer) {
  const auto before = object;
  auto& conditions = object["status"]["conditions"];
  if (!conditions.is_array()) conditions = json::array();
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const json& each) { return member(each, "type") == type; });
  json wanted{{"type", type},
              {"status", status},
              {"reason", reason},
              {"message", message},
              {"lastTransitionTime", writer.time}};
  if (found == conditions.end()) {
    conditions.push_back(std::move(wanted));
  } else {
    if (member(*found, "status") == status) {
      if (member(*found, "reason") == reason && member(*found, "message") == message) {
        return false;
      }
      wanted["lastTransitionTime"] = found->value("lastTransitionTime", json(writer.time));
    }
    *found = std::move(wanted);
  }
  own_update(before, object, writer);
  return true;
}

Result<resources::DeleteOptions> delete_options(std::string_view body) {
  if (body.empty()) return resources::DeleteOptions();
  ZOO_TRY(const auto options, parse({BodyFormat::json, body}));
  return resources::delete_options(options);
}

} // namespace zoo::virtuals
