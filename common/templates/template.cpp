// SPDX-License-Identifier: Apache-2.0
#include "common/templates/template.hpp"

#include "common/kube/json_reads.hpp"
#include "common/kube/yaml.hpp"

#include <algorithm>
#include <utility>

namespace zoo::templates {
namespace {

using kube::list_at;
using kube::text_at;
using nlohmann::json;

bool flag(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

SecretKey secret_key(const json& object, const std::string& pointer) {
  const json::json_pointer at(pointer);
  if (!object.contains(at) || !object.at(at).is_object()) return {};
  const auto& from = object.at(at);
  return {text_at(from, "/namespace"), text_at(from, "/name"), text_at(from, "/key")};
}

Result<Chart> read_chart(const json& helm, const std::string& name) {
  Chart out;
  out.release = text_at(helm, "/releaseName");
  if (out.release.empty()) out.release = name;
  out.name = text_at(helm, "/chart/repository/name");
  out.version = text_at(helm, "/chart/repository/version");
  out.repository = text_at(helm, "/chart/repository/repoUrl");
  out.oci = text_at(helm, "/chart/oci");
  const std::string place = out.oci.empty() ? "/chart/repository" : "/chart";
  out.username = secret_key(helm, place + "/username");
  out.password = secret_key(helm, place + "/password");
  out.inline_data = text_at(helm, "/chart/inline");
  for (const auto& [at, shown] : {std::pair<std::string, const char*>{"/chart", "chart"},
                                  {"/chart/repository", "chart.repository"}}) {
    if (at == place && out.inline_data.empty()) continue;
    for (const char* key : {"username", "password"})
      if (helm.contains(json::json_pointer(at + "/" + key)))
        return fail(Code::invalid,
                    "template \"{}\": resources.helm.{}.{} is not looked at: credentials stand in "
                    "chart.repository, or beside chart.oci",
                    name, shown, key);
  }
  const int sources = int(!out.name.empty() || !out.repository.empty()) + int(!out.oci.empty()) +
                      int(!out.inline_data.empty());
  if (sources != 1)
    return fail(Code::invalid,
                "template \"{}\": resources.helm.chart names {}: it has one of repository, oci and "
                "inline",
                name, sources == 0 ? "no chart" : "more than one chart");
  if (out.oci.empty() && out.inline_data.empty() && (out.name.empty() || out.repository.empty()))
    return fail(Code::invalid, "template \"{}\": resources.helm.chart.repository has no {}", name,
                out.name.empty() ? "name" : "repoUrl");
  for (const auto& [key, what] :
       {std::pair{&out.username, "username"}, {&out.password, "password"}}) {
    const bool any = !key->name.empty() || !key->key.empty() || !key->name_space.empty();
    if (any && (key->name.empty() || key->key.empty() || key->name_space.empty()))
      return fail(Code::invalid,
                  "template \"{}\": resources.helm.chart.{}{} needs name, namespace and key of a "
                  "Secret",
                  name, out.oci.empty() ? "repository." : "", what);
  }
  out.values = text_at(helm, "/values");
  for (const auto& each : list_at(helm, "/setValues")) {
    Chart::Set set{text_at(each, "/name"), text_at(each, "/value"),
                   each.is_object() && flag(each, "forceString")};
    if (set.name.empty())
      return fail(Code::invalid,
                  "template \"{}\": an entry of resources.helm.setValues has no name", name);
    out.set.push_back(std::move(set));
  }
  return out;
}

} // namespace

Result<Template> read_template(const json& object) {
  Template out;
  out.name = text_at(object, "/metadata/name");
  if (out.name.empty()) return fail(Code::invalid, "a template has no metadata.name");
  out.uid = text_at(object, "/metadata/uid");
  out.resource_version = text_at(object, "/metadata/resourceVersion");
  for (const auto& each : list_at(object, "/parameters")) {
    Parameter one;
    one.name = text_at(each, "/name");
    if (one.name.empty())
      return fail(Code::invalid, "template \"{}\": a parameter has no name", out.name);
    if (const auto value = each.find("value"); value != each.end() && value->is_string())
      one.value = value->get<std::string>();
    one.required = flag(each, "required");
    one.validation = text_at(each, "/validation");
    out.parameters.push_back(std::move(one));
  }
  out.manifests = list_at(object, "/resources/manifests");
  const auto helm = "/resources/helm"_json_pointer;
  if (object.contains(helm) && object.at(helm).is_object() && !object.at(helm).empty()) {
    ZOO_TRY(out.chart, read_chart(object.at(helm), out.name));
  }
  if (auto role = text_at(object, "/applyAs/clusterRole"); !role.empty())
    out.role = std::move(role);
  if (const auto found = object.find("accounts"); found != object.end()) out.accounts = *found;
  return out;
}

bool selects(const json& selector, const Values& labels) {
  if (selector.is_null()) return true;
  if (!selector.is_object()) return false;
  const auto wanted = selector.value("matchLabels", json::object());
  for (const auto& [key, value] : wanted.items()) {
    const auto found = labels.find(key);
    if (found == labels.end() || !value.is_string() || value != json(found->second)) return false;
  }
  for (const auto& each : list_at(selector, "/matchExpressions")) {
    const auto operation = text_at(each, "/operator");
    const auto found = labels.find(text_at(each, "/key"));
    const bool there = found != labels.end();
    const auto& values = list_at(each, "/values");
    const bool among =
        there && std::find(values.begin(), values.end(), json(found->second)) != values.end();
    const bool chosen = (operation == "In" && among) || (operation == "NotIn" && !among) ||
                        (operation == "Exists" && there) || (operation == "DoesNotExist" && !there);
    if (!chosen) return false;
  }
  return true;
}

Result<std::vector<json>> render_manifests(const Template& from, const Lookup& lookup) {
  std::vector<json> out;
  for (auto object : from.manifests) {
    ZOO_TRY_VOID(substitute_all(object, lookup));
    out.push_back(std::move(object));
  }
  return out;
}

Result<std::string> render_values(const Chart& chart, const Lookup& lookup) {
  if (chart.values.empty()) return std::string();
  auto read = kube::yaml_to_json(chart.values);
  if (!read) return fail(Code::invalid, "resources.helm.values: {}", read.error().message());
  auto values = json::parse(*read, nullptr, false);
  if (values.is_null()) return std::string(); // nothing but comments
  if (!values.is_object())
    return fail(Code::invalid, "resources.helm.values is no mapping of names to values");
  ZOO_TRY_VOID(substitute_all(values, lookup));
  return kube::text_of(values);
}

} // namespace zoo::templates
