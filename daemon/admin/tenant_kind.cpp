// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/tenant_kind.hpp"

#include "common/api/tenant.hpp"
#include "common/api/terms.hpp"
#include "common/kube/age.hpp"
#include "daemon/admin/tenant_backing.hpp"
#include "daemon/resources/last_applied.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace zoo::admin {
namespace {

using nlohmann::json;
using resources::Column;
using resources::Field;
using Type = Field::Type;

std::vector<Field> metadata() {
  auto out = resources::standard_metadata();
  for (auto& field : out) {
    if (field.name == "name")
      field.description =
          "The tenant's ID: exactly six characters of a-z and 0-9. Quote it in YAML "
          "where it could be read as a number (\"123456\").";
    if (field.name == "annotations")
      field.description = "Annotations. kubezoo.io/tenant.kubeconfig.base64 is added when one "
                          "Tenant is read, and never stored.";
    if (field.name == "uid")
      field.description = "Of this tenant: one that comes back under the same ID has another. "
                          "Read-only.";
    if (field.name == "creationTimestamp")
      field.description = "When the tenant was created. Read-only.";
  }
  return out;
}

Field spec() {
  return {
      "spec",
      Type::object,
      "What the tenant should be.",
      {
          {"displayName", Type::text, "What people call the tenant."},
          {"account", Type::text, "The account that the tenant belongs to."},
          {"suspended", Type::flag,
           "While true, the tenant's requests are refused; its objects stay."},
          {"audit",
           Type::object,
           "What is written of the tenant's requests.",
           {{"level", Type::text, "none, denied, writes or all; without it zood's own."}}},
          {"class", Type::text,
           "cluster: what a virtual cluster has upstream. Written by zood alone."},
          {"webhooks", Type::text,
           "relay: upstream calls the tenant's webhooks through zood, in the tenant's words, "
           "where it reaches zood; direct: it calls their Services itself. Default: relay."},
          {"inside",
           Type::object,
           "What zood does inside the tenant's pods; all of it, unless it is switched off.",
           {{"api", Type::flag,
             "zood is the API server that they find, with a token for it alone."},
            {"dns", Type::flag, "They find the tenant's names where they look for names."}}},
          {"quota", Type::open,
           "Ceilings on what the tenant may store instead of zood.yaml's: namespaces, "
           "customresourcedefinitions, webhooks, policies, services.nodeports, "
           "services.loadbalancers, objects, bytes; null means unlimited. hard: what all its "
           "namespaces together may use, as in a ResourceQuota."},
          {"templates",
           Type::list,
           "Templates that each of its namespaces has.",
           {{"", Type::open, "A template, and its parameters: each a name and a value."}}},
          {"flow", Type::open,
           "The tenant's share instead of zood.yaml's: maxRequestsInflight, "
           "maxMutationsInflight, maxLongRunning, maxBufferedBytes, weight."},
          {"guards", Type::open,
           "What the tenant may write instead of what zood.yaml lets: nodeNames, "
           "adminAccess, endpoints, serviceStatus, conversionWebhooks, volumeDrivers, "
           "ingressHosts, priority. network: open or isolated, and networkFrom: from where pods "
           "are reached whose network is isolated."},
          {"id", Type::number, "Stands in manifests made for KubeZoo; has no meaning here."},
      }};
}

Field status() {
  const auto condition = resources::condition_field("One aspect of the tenant's state.",
                                                    "Ready, Populated, InClusterAccess, ...",
                                                    "True, False or Unknown.");
  const Field revoked{
      "",
      Type::object,
      "A certificate.",
      {{"serial", Type::text, "In hexadecimal."}, {"expiry", Type::text, "When it ends."}}};
  return {"status",
          Type::object,
          "What the tenant is; written by zood alone.",
          {
              {"phase", Type::text, "Pending, Ready, Suspended, Deleting or Failed."},
              {"conditions", Type::list, "The state in detail.", {condition}},
              {"certificateExpiry", Type::text, "When the administrator's certificate ends."},
              {"credentials",
               Type::object,
               "What of the tenant's credentials is refused.",
               {{"epoch", Type::number, "Certificates made before it began are refused."},
                {"notBefore", Type::text, "ServiceAccounts' tokens made until then are refused."},
                {"revoked", Type::list, "Certificates that are refused one by one.", {revoked}}}},
              {"waitingFor", Type::text, "What zood waits for, in words."},
              {"hadWebhooks", Type::flag,
               "Upstream calls webhooks of the tenant's, or has called them."},
              {"heldUntil", Type::text,
               "Of a tenant that goes: what its webhooks hold upstream may be stored until then."},
              {"usage", Type::open,
               "What the tenant has against its ceilings and its share, now; used is missing where "
               "nothing had to be counted yet."},
              {"observedGeneration", Type::number, "The generation of spec that status speaks of."},
          }};
}

std::string time_left(const json& object, std::int64_t now) {
  const auto expires = kube::unix_seconds(resources::text_at(object, "status.certificateExpiry"));
  if (expires < 0) return "<none>";
  return expires <= now ? "expired" : kube::human_duration(expires - now);
}

std::vector<Column> columns() {
  using resources::cell_of;
  return {
      {"Name", "name", 0, "The tenant's ID: six characters of a-z and 0-9.",
       cell_of("metadata.name")},
      {"Status", "", 0, "Pending, Ready, Suspended, Deleting or Failed.",
       cell_of("status.phase", "Pending")},
      {"Display Name", "", 0, "What people call the tenant.", cell_of("spec.displayName")},
      {"Expires", "", 0, "How long the tenant's administrator certificate is still valid.",
       time_left},
      {"Age", "", 0, "Time since the tenant was created.", resources::age_of()},
      {"Waiting For", "", 1, "What zood waits for with this tenant.", cell_of("status.waitingFor")},
      {"UID", "", 1, "Of this tenant; one that comes back under the same ID has another.",
       cell_of("metadata.uid", "")},
  };
}

/// Takes out the kubeconfig annotation (a GET carries it, and so does
/// `kubectl get -o yaml | kubectl apply -f -`), also inside kubectl's last-applied annotation.
void scrub(json& tenant) {
  using resources::Scrubbed;
  const std::string key(api::k_kubeconfig_annotation);
  if (!tenant["metadata"].contains("annotations")) return;
  auto& annotations = tenant["metadata"]["annotations"];
  if (annotations.is_object()) annotations.erase(key);
  resources::scrub_last_applied(annotations, [&key](json& applied) {
    const json::json_pointer at("/metadata/annotations");
    if (!applied.contains(at) || !applied.at(at).is_object()) return Scrubbed::no;
    return applied.at(at).erase(key) > 0 ? Scrubbed::yes : Scrubbed::no;
  });
}

Result<json> accept(const json& object) {
  ZOO_TRY(const auto tenant, api::from_json(object));
  ZOO_TRY_VOID(api::terms_of(tenant));
  return api::to_json(tenant);
}

} // namespace

resources::KindPtr tenant_kind(tenants::TenantService& service) {
  using resources::Verb;
  resources::Kind kind;
  kind.group = api::k_tenant_group;
  kind.version = "v1alpha1";
  kind.resource = api::k_tenant_resource;
  kind.kind = api::k_tenant_kind;
  kind.singular = "tenant";
  kind.short_names = {"tn"};
  kind.categories = {"zoo"};
  kind.description = "Tenant is a private view of one upstream cluster: its own namespaces, "
                     "cluster-scoped objects, custom resources and RBAC, under a prefix made of "
                     "its ID.";
  kind.name_description = "the tenant's ID";
  kind.verbs = {Verb::create, Verb::remove, Verb::get,  Verb::list,
                Verb::patch,  Verb::update, Verb::watch};
  kind.metadata = metadata();
  kind.metadata_description = "Standard object metadata; the name is the tenant's ID.";
  kind.fields = {spec(), status()};
  kind.columns = columns();
  kind.selectable = {"status.phase"};
  kind.actions = tenant_actions(service);
  kind.strategy.no_generated_names = "it is the tenant's ID, six characters of a-z and 0-9";
  kind.strategy.scrub = scrub;
  kind.strategy.shape = [](json&) { return Result<void>(); }; // from_json() does, in accept()
  kind.strategy.accept = [](const resources::Who&, json object, const json*,
                            std::vector<std::string>&) { return accept(object); };
  kind.strategy.decorate = [&service](const resources::Who&, json& object,
                                      std::vector<std::string>& warnings) {
    auto stored = service.stored_kubeconfig(resources::key_of(object).name);
    if (!stored)
      warnings.push_back("the tenant's kubeconfig cannot be shown: " + stored.error().message());
    else if (!stored->empty())
      object["metadata"]["annotations"][std::string(api::k_kubeconfig_annotation)] =
          *std::move(stored);
  };
  kind.backing = std::make_shared<TenantBacking>(service);
  return std::make_shared<const resources::Kind>(std::move(kind));
}

} // namespace zoo::admin
