// SPDX-License-Identifier: Apache-2.0
#include "daemon/resources/openapi.hpp"

#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/resources/discovery.hpp"
#include "daemon/resources/negotiate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace zoo::resources {
namespace {

using nlohmann::json;

/// The two dialects: where schemas stand, and how parameters and bodies are written.
struct Dialect {
  bool v3;
  std::string ref; ///< in front of a schema's name
};
const Dialect k_v2{false, "#/definitions/"};
const Dialect k_v3{true, "#/components/schemas/"};

/// "io.kubezoo.tenant.v1alpha1." of tenant.kubezoo.io/v1alpha1.
std::string schema_prefix(const Kind& kind) {
  std::string out;
  const auto labels = text::split(kind.group, '.');
  for (auto label = labels.rbegin(); label != labels.rend(); ++label)
    out += std::string(*label) + ".";
  return out + kind.version + ".";
}

std::string capital(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 32);
  return out;
}

/// "tenantKubezooIo" of tenant.kubezoo.io.
std::string camel(std::string_view group) {
  std::string out;
  for (const auto label : text::split(group, '.'))
    out += out.empty() ? std::string(label) : capital(label);
  return out;
}

json kind_of(const Kind& kind, const std::string& name) {
  return {{"group", kind.group}, {"version", kind.version}, {"kind", name}};
}

json text(std::string_view description) {
  return {{"type", "string"}, {"description", description}};
}

json schema_of(const Field& field);

json members_of(const std::vector<Field>& fields) {
  json out = json::object();
  for (const auto& field : fields)
    out[field.name] = schema_of(field);
  return out;
}

json schema_of(const Field& field) {
  json out{{"description", field.description}};
  switch (field.type) {
  case Field::Type::text:
    out["type"] = "string";
    break;
  case Field::Type::flag:
    out["type"] = "boolean";
    break;
  case Field::Type::number:
    out["type"] = "integer";
    out["format"] = "int64";
    break;
  case Field::Type::map:
    out["type"] = "object";
    out["additionalProperties"] = {{"type", "string"}};
    break;
  case Field::Type::object:
    out["type"] = "object";
    out["properties"] = members_of(field.fields);
    break;
  case Field::Type::open:
    out["type"] = "object";
    out["x-kubernetes-preserve-unknown-fields"] = true;
    break;
  case Field::Type::list:
    out["type"] = "array";
    out["items"] = field.fields.empty() ? json::object() : schema_of(field.fields.front());
    if (!field.merge_key.empty()) {
      out["x-kubernetes-list-type"] = "map";
      out["x-kubernetes-list-map-keys"] = json::array({field.merge_key});
      out["x-kubernetes-patch-strategy"] = "merge";
      out["x-kubernetes-patch-merge-key"] = field.merge_key;
    }
    break;
  }
  return out;
}

json reference(const Dialect& dialect, const std::string& name, std::string_view description) {
  // OpenAPI 3.0 ignores what stands beside a $ref.
  json out{{"$ref", dialect.ref + name}};
  if (dialect.v3) out = {{"allOf", json::array({out})}, {"default", json::object()}};
  out["description"] = description;
  return out;
}

/// The schemas of one kind by name: the kind, its list, metadata, and each part (spec, status).
void add_schemas(const Kind& kind, const Dialect& dialect, json& out) {
  const auto prefix = schema_prefix(kind);
  auto metadata =
      schema_of({"metadata", Field::Type::object, kind.metadata_description, kind.metadata, ""});
  auto metadata_name = prefix + "ObjectMeta";
  if (out.contains(metadata_name) && out[metadata_name] != metadata)
    metadata_name = prefix + kind.kind + "ObjectMeta";
  out[metadata_name] = std::move(metadata);
  json properties{{"apiVersion", text(kind.api_version())},
                  {"kind", text(kind.kind)},
                  {"metadata", reference(dialect, metadata_name, "Standard object metadata.")}};
  for (const auto& field : kind.fields) {
    if (field.type != Field::Type::object) {
      properties[field.name] = schema_of(field);
      continue;
    }
    const auto name = prefix + kind.kind + capital(field.name);
    properties[field.name] = reference(dialect, name, field.description);
    out[name] = schema_of(field);
    out[name].erase("description"); // kubectl explain shows the reference's and this, one by one
  }
  out[prefix + kind.kind] = {
      {"type", "object"},
      {"description", kind.description},
      {"properties", std::move(properties)},
      {"x-kubernetes-group-version-kind", json::array({kind_of(kind, kind.kind)})}};
  out[prefix + kind.kind + "List"] = {
      {"type", "object"},
      {"description", "A list of " + kind.kind + "s."},
      {"properties",
       {{"apiVersion", text(kind.api_version())},
        {"kind", text(kind.kind + "List")},
        {"metadata", {{"type", "object"}}},
        {"items", {{"type", "array"}, {"items", {{"$ref", dialect.ref + prefix + kind.kind}}}}}}},
      {"x-kubernetes-group-version-kind", json::array({kind_of(kind, kind.kind + "List")})}};
}

/// How a verb is written: several of ours may be one operation (list and watch).
struct Operation {
  Verb verb;
  const char* method;
  const char* action;
  bool named, writes;
  const char* description; ///< in front of the kind's name
  const char* behind;      ///< behind it
  std::vector<const char*> parameters;
};

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {Verb::list,
       "get",
       "list",
       false,
       false,
       "list or watch ",
       "s",
       {"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
        "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"}},
      {Verb::create,
       "post",
       "post",
       false,
       true,
       "create a ",
       "",
       {"dryRun", "fieldManager", "fieldValidation"}},
      {Verb::get, "get", "get", true, false, "read one ", "", {}},
      {Verb::update,
       "put",
       "put",
       true,
       true,
       "replace one ",
       "",
       {"dryRun", "fieldManager", "fieldValidation"}},
      {Verb::patch,
       "patch",
       "patch",
       true,
       true,
       "partially update one ",
       "",
       {"dryRun", "fieldManager", "fieldValidation", "force"}},
      {Verb::remove, "delete", "delete", true, false, "delete one ", "", {"dryRun"}},
  };
  return all;
}

const char* type_of(std::string_view parameter) {
  if (parameter == "limit" || parameter == "timeoutSeconds") return "integer";
  if (parameter == "watch" || parameter == "allowWatchBookmarks" || parameter == "force" ||
      parameter == "sendInitialEvents")
    return "boolean";
  return "string";
}

json typed(json parameter, const char* type, const Dialect& dialect) {
  if (dialect.v3)
    parameter["schema"] = {{"type", type}, {"uniqueItems", true}};
  else
    parameter.update({{"type", type}, {"uniqueItems", true}});
  return parameter;
}

json path_parameter(const char* name, std::string_view description, const Dialect& dialect) {
  return typed({{"name", name}, {"in", "path"}, {"required", true}, {"description", description}},
               "string", dialect);
}

json operation_of(const Kind& kind, const Operation& operation, const Dialect& dialect) {
  const std::string action = operation.action;
  const auto name = schema_prefix(kind) + kind.kind + (action == "list" ? "List" : "");
  const json schema{{"$ref", dialect.ref + name}};
  json out{{"description", operation.description + kind.kind + operation.behind},
           {"operationId", action + capital(camel(kind.group)) + capital(kind.version) + kind.kind},
           {"tags", {camel(kind.group) + "_" + kind.version}},
           {"x-kubernetes-action", action},
           {"x-kubernetes-group-version-kind", kind_of(kind, kind.kind)},
           {"parameters", json::array()}};
  for (const auto* parameter : operation.parameters)
    out["parameters"].push_back(
        typed({{"name", parameter}, {"in", "query"}}, type_of(parameter), dialect));
  const json body = action == "patch" ? json{{"type", "object"}} : schema;
  if (dialect.v3) {
    out["responses"] = {
        {"200",
         {{"description", "OK"}, {"content", {{"application/json", {{"schema", schema}}}}}}}};
    const char* type = action == "patch" ? "application/merge-patch+json" : "application/json";
    if (operation.writes) out["requestBody"] = {{"content", {{type, {{"schema", body}}}}}};
    return out;
  }
  out["responses"] = {{"200", {{"description", "OK"}, {"schema", schema}}}};
  out["consumes"] = {"application/json", "application/yaml"};
  out["produces"] = {"application/json", "application/yaml"};
  if (operation.writes)
    out["parameters"].push_back(
        {{"name", "body"}, {"in", "body"}, {"required", true}, {"schema", body}});
  return out;
}

void add_paths(const Kind& kind, const Dialect& dialect, json& out) {
  auto all = "/apis/" + kind.api_version();
  auto parameters = json::array();
  if (kind.namespaced) {
    all += "/namespaces/{namespace}";
    parameters.push_back(path_parameter("namespace", "the object's namespace", dialect));
  }
  all += "/" + kind.resource;
  out[all] = parameters.empty() ? json::object() : json{{"parameters", parameters}};
  parameters.push_back(path_parameter(
      "name", kind.name_description.empty() ? "the object's name" : kind.name_description,
      dialect));
  const auto one = all + "/{name}";
  out[one] = {{"parameters", std::move(parameters)}};
  for (const auto& operation : operations())
    if (kind.has(operation.verb))
      out[operation.named ? one : all][operation.method] = operation_of(kind, operation, dialect);
}

json info(std::string_view title) { return {{"title", title}, {"version", ZOO_VERSION}}; }

} // namespace

json openapi_v3(std::span<const KindPtr> kinds, std::string_view title) {
  json paths = json::object(), schemas = json::object();
  for (const auto& kind : kinds) {
    add_paths(*kind, k_v3, paths);
    add_schemas(*kind, k_v3, schemas);
  }
  return {{"openapi", "3.0.0"},
          {"info", info(title)},
          {"paths", std::move(paths)},
          {"components", {{"schemas", std::move(schemas)}}}};
}

json openapi_v2(std::span<const KindPtr> kinds, std::string_view title) {
  json paths = json::object(), schemas = json::object();
  for (const auto& kind : kinds) {
    add_paths(*kind, k_v2, paths);
    add_schemas(*kind, k_v2, schemas);
  }
  return {{"swagger", "2.0"},
          {"info", info(title)},
          {"paths", std::move(paths)},
          {"definitions", std::move(schemas)}};
}

OpenApi::OpenApi(std::span<const KindPtr> all, std::string_view title) {
  std::vector<KindPtr> kinds;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kinds),
               [](const KindPtr& kind) { return !kind->group.empty(); });
  std::map<std::string, std::vector<KindPtr>> versions;
  for (const auto& kind : kinds)
    versions["apis/" + kind->api_version()].push_back(kind);
  for (const auto& [path, of] : versions)
    v3_[path] = dump(openapi_v3(of, title));
  const auto v2 = openapi_v2(kinds, title);
  v2_ = dump(v2);
  v2_protobuf_ = openapi_v2_protobuf(v2);
}

std::optional<Answer> OpenApi::answer(const Request& request) const {
  const auto& path = request.segments;
  if (path.size() < 2 || path[0] != "openapi") return {};
  if (path[1] == "v3" && path.size() == 2) {
    json paths = json::object();
    for (const auto& [version, document] : v3_) {
      const auto hash = crypto::hex_encode(crypto::view(crypto::sha256(document)));
      paths[version] = {{"serverRelativeURL", "/openapi/v3/" + version + "?hash=" + hash}};
    }
    return cacheable(request, json_answer(200, {{"paths", std::move(paths)}}));
  }
  Answer answer;
  if (path[1] == "v3") {
    if (path.size() != 5) return {};
    const auto found = v3_.find(path[2] + "/" + path[3] + "/" + path[4]);
    if (found == v3_.end()) return {};
    answer.body = found->second;
    return cacheable(request, std::move(answer));
  }
  if (path[1] != "v2" || path.size() != 2) return {};
  answer.headers.add("Vary", "Accept");
  answer.body = v2_;
  for (const auto& entry : parse_accept(request.headers.get("accept"))) {
    if (entry.type == "application/json" || entry.type == "*/*") break;
    // Spelt with '@' before Kubernetes 1.24, with '.' since.
    if (!entry.type.starts_with("application/com.github.proto-openapi.spec.v2")) continue;
    answer.content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    answer.body = v2_protobuf_;
    break;
  }
  return cacheable(request, std::move(answer));
}

} // namespace zoo::resources
