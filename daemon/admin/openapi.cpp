// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/openapi.hpp"

#include "common/api/tenant.hpp"
#include "common/crypto/digest.hpp"
#include "daemon/admin/discovery.hpp"
#include "daemon/admin/negotiate.hpp"

#include <nlohmann/json.hpp>

namespace zoo::admin {
namespace {

using nlohmann::json;

constexpr const char* k_prefix = "io.kubezoo.tenant.v1alpha1.";
constexpr const char* k_path = "/apis/tenant.kubezoo.io/v1alpha1/tenants";

json kind_of(const char* kind) {
  return {{"group", api::k_tenant_group}, {"version", "v1alpha1"}, {"kind", kind}};
}

json text(const char* description) { return {{"type", "string"}, {"description", description}}; }

json strings(const char* description) {
  return {{"type", "object"},
          {"description", description},
          {"additionalProperties", {{"type", "string"}}}};
}

json object_with(const char* description, json properties) {
  return {{"type", "object"}, {"description", description}, {"properties", std::move(properties)}};
}

json metadata_schema() {
  return object_with(
      "Standard object metadata; the name is the tenant's ID.",
      {{"name", text("The tenant's ID: exactly six characters of a-z and 0-9. Quote it in YAML "
                     "where it could be read as a number (\"123456\").")},
       {"labels", strings("Labels, for selectors.")},
       {"annotations", strings("Annotations. kubezoo.io/tenant.kubeconfig.base64 is added when one "
                               "Tenant is read, and never stored.")},
       {"uid", text("Of this tenant: one that comes back under the same ID has another. "
                    "Read-only.")},
       {"resourceVersion", text("Changes with every write; sent back, it guards an update.")},
       {"generation",
        {{"type", "integer"},
         {"format", "int64"},
         {"description", "Changes with every write of spec. Read-only."}}},
       {"creationTimestamp", text("When the tenant was created. Read-only.")},
       {"deletionTimestamp", text("When its deletion was asked for. Read-only.")}});
}

json spec_schema() {
  const json free{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  auto quota = free, flow = free, guards = free;
  quota["description"] =
      "Ceilings on what the tenant may store instead of zood.yaml's: namespaces, "
      "customresourcedefinitions, webhooks, policies, services.nodeports, "
      "services.loadbalancers, objects, bytes; null means unlimited.";
  flow["description"] = "The tenant's share instead of zood.yaml's: maxRequestsInflight, "
                        "maxMutationsInflight, maxLongRunning, maxBufferedBytes, weight.";
  guards["description"] =
      "What the tenant may write instead of what zood.yaml lets: nodeNames, "
      "adminAccess, endpoints, serviceStatus, conversionWebhooks, volumeDrivers, ingressHosts, "
      "priority.";
  return object_with(
      "What the tenant should be.",
      {{"displayName", text("What people call the tenant.")},
       {"account", text("The account that the tenant belongs to.")},
       {"suspended",
        {{"type", "boolean"},
         {"description", "While true, the tenant's requests are refused; its "
                         "objects stay."}}},
       {"audit",
        object_with("What is written of the tenant's requests.",
                    {{"level", text("none, denied, writes or all; without it zood's own.")}})},
       {"quota", quota},
       {"flow", flow},
       {"guards", guards},
       {"id",
        {{"type", "integer"},
         {"description", "Stands in manifests made for KubeZoo; has no meaning here."}}}});
}

json status_schema() {
  const json condition = object_with("One aspect of the tenant's state.",
                                     {{"type", text("Ready, Populated, InClusterAccess, ...")},
                                      {"status", text("True, False or Unknown.")},
                                      {"reason", text("One word: why.")},
                                      {"message", text("The same for people.")},
                                      {"lastTransitionTime", text("When status last changed.")}});
  return object_with(
      "What the tenant is; written by zood alone.",
      {{"phase", text("Pending, Ready, Suspended, Deleting or Failed.")},
       {"conditions",
        {{"type", "array"}, {"description", "The state in detail."}, {"items", condition}}},
       {"certificateExpiry", text("When the administrator's certificate ends.")},
       {"credentials",
        object_with(
            "What of the tenant's credentials is refused.",
            {{"epoch",
              {{"type", "integer"},
               {"format", "int64"},
               {"description", "Certificates made before it began are refused."}}},
             {"notBefore", text("ServiceAccounts' tokens made until then are refused.")},
             {"revoked",
              {{"type", "array"},
               {"description", "Certificates that are refused one by one."},
               {"items", object_with("A certificate.", {{"serial", text("In hexadecimal.")},
                                                        {"expiry", text("When it ends.")}})}}}})},
       {"waitingFor", text("What zood waits for, in words.")},
       {"hadWebhooks",
        {{"type", "boolean"},
         {"description", "Upstream calls webhooks of the tenant's, or has called them."}}},
       {"heldUntil", text("Of a tenant that goes: what its webhooks hold upstream may be stored "
                          "until then.")},
       {"usage",
        {{"type", "object"},
         {"x-kubernetes-preserve-unknown-fields", true},
         {"description", "What the tenant has against its ceilings and its share, now; used is "
                         "missing where nothing had to be counted yet."}}},
       {"observedGeneration",
        {{"type", "integer"},
         {"format", "int64"},
         {"description", "The generation of spec that status speaks of."}}}});
}

/// Named schemas; `ref` is "#/components/schemas/" or "#/definitions/".
json schemas(const std::string& ref) {
  const auto at = [&](const char* name) { return json{{"$ref", ref + k_prefix + name}}; };
  const auto described = [&](const char* name, const char* description, bool v3) {
    // OpenAPI 3.0 ignores what stands beside a $ref.
    json out =
        v3 ? json{{"allOf", json::array({at(name)})}, {"default", json::object()}} : at(name);
    out["description"] = description;
    return out;
  };
  const bool v3 = ref.find("components") != std::string::npos;
  json tenant = object_with(
      "Tenant is a private view of one upstream cluster: its own namespaces, cluster-scoped "
      "objects, custom resources and RBAC, under a prefix made of its ID.",
      {{"apiVersion", text("tenant.kubezoo.io/v1alpha1")},
       {"kind", text("Tenant")},
       {"metadata", described("ObjectMeta", "Standard object metadata.", v3)},
       {"spec", described("TenantSpec", "What the tenant should be.", v3)},
       {"status", described("TenantStatus", "What the tenant is; written by zood alone.", v3)}});
  tenant["x-kubernetes-group-version-kind"] = json::array({kind_of("Tenant")});
  json list =
      object_with("A list of Tenants.", {{"apiVersion", text("tenant.kubezoo.io/v1alpha1")},
                                         {"kind", text("TenantList")},
                                         {"metadata", {{"type", "object"}}},
                                         {"items", {{"type", "array"}, {"items", at("Tenant")}}}});
  list["x-kubernetes-group-version-kind"] = json::array({kind_of("TenantList")});
  const std::string prefix = k_prefix;
  return {{prefix + "Tenant", tenant},
          {prefix + "TenantList", list},
          {prefix + "ObjectMeta", metadata_schema()},
          {prefix + "TenantSpec", spec_schema()},
          {prefix + "TenantStatus", status_schema()}};
}

struct Verb {
  const char* method;
  const char* action;
  bool named;
  bool writes;
  const char* description;
  std::vector<const char*> parameters;
};

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"get",
       "list",
       false,
       false,
       "list or watch Tenants",
       {"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
        "resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"}},
      {"post",
       "post",
       false,
       true,
       "create a Tenant",
       {"dryRun", "fieldManager", "fieldValidation"}},
      {"get", "get", true, false, "read one Tenant", {}},
      {"put",
       "put",
       true,
       true,
       "replace one Tenant",
       {"dryRun", "fieldManager", "fieldValidation"}},
      {"patch",
       "patch",
       true,
       true,
       "partially update one Tenant",
       {"dryRun", "fieldManager", "fieldValidation", "force"}},
      {"delete", "delete", true, false, "delete one Tenant", {"dryRun"}},
  };
  return all;
}

const char* type_of(const std::string& parameter) {
  if (parameter == "limit" || parameter == "timeoutSeconds") return "integer";
  if (parameter == "watch" || parameter == "allowWatchBookmarks" || parameter == "force" ||
      parameter == "sendInitialEvents")
    return "boolean";
  return "string";
}

json parameter(const std::string& name, bool v3) {
  json out{{"name", name}, {"in", "query"}};
  if (v3)
    out["schema"] = {{"type", type_of(name)}, {"uniqueItems", true}};
  else
    out.update({{"type", type_of(name)}, {"uniqueItems", true}});
  return out;
}

json operation(const Verb& verb, const std::string& ref, bool v3) {
  const json schema{
      {"$ref", ref + k_prefix + (verb.action == std::string("list") ? "TenantList" : "Tenant")}};
  json out{{"description", verb.description},
           {"operationId", std::string(verb.action) + "TenantKubezooIoV1alpha1Tenant"},
           {"tags", {"tenantKubezooIo_v1alpha1"}},
           {"x-kubernetes-action", verb.action},
           {"x-kubernetes-group-version-kind", kind_of("Tenant")},
           {"parameters", json::array()}};
  for (const auto* name : verb.parameters)
    out["parameters"].push_back(parameter(name, v3));
  const json body_schema = verb.action == std::string("patch") ? json{{"type", "object"}} : schema;
  if (v3) {
    out["responses"] = {
        {"200",
         {{"description", "OK"}, {"content", {{"application/json", {{"schema", schema}}}}}}}};
    if (verb.writes)
      out["requestBody"] = {{"content",
                             {{verb.action == std::string("patch") ? "application/merge-patch+json"
                                                                   : "application/json",
                               {{"schema", body_schema}}}}}};
  } else {
    out["responses"] = {{"200", {{"description", "OK"}, {"schema", schema}}}};
    out["consumes"] = {"application/json", "application/yaml"};
    out["produces"] = {"application/json", "application/yaml"};
    if (verb.writes)
      out["parameters"].push_back(
          {{"name", "body"}, {"in", "body"}, {"required", true}, {"schema", body_schema}});
  }
  return out;
}

json paths(const std::string& ref, bool v3) {
  json name{
      {"name", "name"}, {"in", "path"}, {"required", true}, {"description", "the tenant's ID"}};
  if (v3)
    name["schema"] = {{"type", "string"}, {"uniqueItems", true}};
  else
    name.update({{"type", "string"}, {"uniqueItems", true}});
  const std::string one = std::string(k_path) + "/{name}";
  json out;
  out[k_path] = json::object();
  out[one] = {{"parameters", json::array({name})}};
  for (const auto& verb : verbs())
    out[verb.named ? one : k_path][verb.method] = operation(verb, ref, v3);
  return out;
}

json info() { return {{"title", "zood admin API"}, {"version", ZOO_VERSION}}; }

} // namespace

json openapi_v3() {
  const std::string ref = "#/components/schemas/";
  return {{"openapi", "3.0.0"},
          {"info", info()},
          {"paths", paths(ref, true)},
          {"components", {{"schemas", schemas(ref)}}}};
}

json openapi_v2() {
  const std::string ref = "#/definitions/";
  return {{"swagger", "2.0"},
          {"info", info()},
          {"paths", paths(ref, false)},
          {"definitions", schemas(ref)}};
}

std::optional<Answer> openapi_answer(const Request& request) {
  const auto& path = request.segments;
  if (path.size() < 2 || path[0] != "openapi") return {};
  static const std::string v3 = dump(openapi_v3());
  if (path[1] == "v3" && path.size() == 2) {
    const auto hash = crypto::hex_encode(crypto::view(crypto::sha256(v3)));
    return cacheable(
        request,
        json_answer(200, {{"paths",
                           {{"apis/tenant.kubezoo.io/v1alpha1",
                             {{"serverRelativeURL",
                               "/openapi/v3/apis/tenant.kubezoo.io/v1alpha1?hash=" + hash}}}}}}));
  }
  Answer answer;
  if (path[1] == "v3") {
    if (path.size() != 5 || path[2] != "apis" || path[3] != api::k_tenant_group ||
        path[4] != "v1alpha1")
      return {};
    answer.body = v3;
    return cacheable(request, std::move(answer));
  }
  if (path[1] != "v2" || path.size() != 2) return {};
  static const std::string v2 = dump(openapi_v2());
  static const std::string v2_protobuf = openapi_v2_protobuf(openapi_v2());
  answer.headers.add("Vary", "Accept");
  answer.body = v2;
  for (const auto& entry : parse_accept(request.headers.get("accept"))) {
    if (entry.type == "application/json" || entry.type == "*/*") break;
    // Spelt with '@' before Kubernetes 1.24, with '.' since.
    if (!entry.type.starts_with("application/com.github.proto-openapi.spec.v2")) continue;
    answer.content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    answer.body = v2_protobuf;
    break;
  }
  return cacheable(request, std::move(answer));
}

} // namespace zoo::admin
