// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/validate.hpp"

#include "common/base/text.hpp"
#include "common/kube/client.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/virtuals/object.hpp"

#include <array>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

std::string member(const json& object, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || from == to) return;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The names that the object has upstream, and in the tenant.
struct Names {
  std::string upstream, tenant;
  std::string upstream_group, tenant_group; ///< of an APIService

  std::string outward(std::string text) const {
    replace_all(text, upstream, tenant);
    replace_all(text, upstream_group, tenant_group);
    return text;
  }
};

Names names_of(const Kind& kind, const json& object, const translate::Mapping& mapping) {
  Names out;
  out.tenant = member(object.value("metadata", json::object()), "name");
  out.upstream = mapping.name_in(out.tenant);
  if (kind.resource != "apiservices") return out;
  // Its name is made of its version and group: the group alone is told apart.
  out.upstream = out.tenant;
  out.tenant_group = member(object.value("spec", json::object()), "group");
  out.upstream_group = mapping.group_in(out.tenant_group);
  const auto end = "." + out.tenant_group;
  if (!out.tenant_group.empty() && out.tenant.ends_with(end))
    out.upstream = out.tenant.substr(0, out.tenant.size() - end.size()) + "." + out.upstream_group;
  return out;
}

} // namespace

Result<Verdict> ask_upstream(upstream::ControlApi& api, const Kind& kind, const json& object,
                             const translate::Mapping& mapping, std::string_view strictness) {
  const auto names = names_of(kind, object, mapping);
  json asked{{"apiVersion", kind.api_version()},
             {"kind", kind.kind},
             {"metadata", {{"name", names.upstream}}}};
  for (const auto& [name, value] : object.items())
    if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "status")
      asked[name] = value; // what nobody knows is upstream's to refuse
  const auto& metadata = object.at("metadata");
  for (const auto* name : {"labels", "annotations", "finalizers", "ownerReferences"})
    if (metadata.contains(name)) asked["metadata"][name] = metadata[name];
  if (!names.upstream_group.empty() && asked["spec"].is_object())
    asked["spec"]["group"] = names.upstream_group;

  auto path = kube::path({"apis", kind.group, kind.version, kind.resource}) +
              "?dryRun=All&fieldManager=zood";
  if (strictness == "Strict" || strictness == "Warn" || strictness == "Ignore")
    path += "&fieldValidation=" + std::string(strictness);
  ZOO_TRY(auto response,
          api.request("POST", path, "application/json", dump(asked), "application/json"));
  Verdict out;
  for (const auto& [name, value] : response.headers)
    if (text::iequals(name, "Warning")) out.warnings.push_back(names.outward(value));
  auto answer = json::parse(response.body, nullptr, false);
  out.accepted = response.status >= 200 && response.status < 300;
  if (!answer.is_object())
    return fail(Code::unavailable, "the upstream's answer is not JSON (status {})",
                response.status);
  if (out.accepted) {
    out.spec = answer.value("spec", json::object());
    if (!names.upstream_group.empty()) out.spec["group"] = names.tenant_group;
    return out;
  }
  if (response.status == 401 ||
      (response.status == 403 && answer.value("reason", "") == "Forbidden"))
    return fail(Code::unavailable, "zood may not check this object upstream: {}",
                member(answer, "message"));
  out.status = response.status;
  out.body = names.outward(dump(answer));
  return out;
}

} // namespace zoo::virtuals
