// SPDX-License-Identifier: Apache-2.0
#include "daemon/gateway/system_roles.hpp"

#include "common/base/json_text.hpp"
#include "common/base/text.hpp"
#include "common/crypto/digest.hpp"
#include "common/kube/age.hpp"
#include "daemon/access/authorizer.hpp"
#include "daemon/authz/system_roles.hpp"
#include "daemon/gateway/exchange.hpp"
#include "daemon/translate/discovery_json.hpp"
#include "daemon/translate/selector.hpp"

#include <algorithm>
#include <ctime>

namespace zoo::gateway {
namespace {

using translate::JsonNode;
using translate::JsonTree;
using translate::k_rbac_group;
using translate::Representation;

bool roles(const Exchange& exchange) {
  return exchange.target().is(k_rbac_group, "clusterroles") && exchange.view().serves(Local::roles);
}
bool bindings(const Exchange& exchange) {
  return exchange.target().is(k_rbac_group, "clusterrolebindings") &&
         exchange.view().serves(Local::roles);
}

const std::vector<authz::SystemObjects::Document>& documents(const Exchange& exchange) {
  static const std::vector<authz::SystemObjects::Document> none;
  if (roles(exchange)) return authz::system_objects().role_documents;
  if (bindings(exchange)) return authz::system_objects().binding_documents;
  return none;
}

/// The same for as long as the tenant lives: made of its UID.
std::string uid_of_role(const Exchange& exchange, std::string_view name) {
  return crypto::uuid_v8(exchange.view().uid + "/" + exchange.target().resource + "/" +
                         std::string(name));
}

std::string rules_json(const authz::Policy* policy, JsonNode object) {
  if (policy == nullptr) return "[]";
  const auto role = authz::read_role(object);
  // Gathered once for all requests where it can be: a list may have very many such roles.
  const auto* known = policy->cluster_role(role.name);
  if (known != nullptr && known->aggregated && known->aggregation == role.aggregation) {
    if (const auto* rules = policy->rules_of("ClusterRole", role.name, ""))
      return authz::write_rules(*rules);
  }
  return authz::write_rules(policy->aggregate(role.aggregation, role.name));
}

std::string finished(const Exchange& exchange, const authz::SystemObjects::Document& document) {
  const auto tree = JsonTree::parse(document.json);
  if (!tree) return document.json;
  const auto root = tree->root();
  const auto metadata = root["metadata"];
  translate::JsonEdits edits;
  edits.append(metadata, "uid", json_quote(uid_of_role(exchange, document.name)));
  edits.append(metadata, "resourceVersion", json_quote(k_own_version));
  if (!exchange.view().created.empty())
    edits.append(metadata, "creationTimestamp", json_quote(exchange.view().created));
  if (root["aggregationRule"])
    edits.replace(root["rules"], rules_json(exchange.policy().get(), root));
  return edits.apply(document.json);
}

/// Comma-joined names of the subjects of one kind, as Kubernetes prints them.
std::string subjects(JsonNode object, std::string_view kind) {
  std::string out;
  for (auto each = object["subjects"].first(); each; each = each.next()) {
    if (each["kind"].string() != kind) continue;
    if (!out.empty()) out += ", ";
    if (kind == "ServiceAccount") out += each["namespace"].string() + "/";
    out += each["name"].string();
  }
  return out;
}

} // namespace

Result<std::vector<OwnObject>> own_objects(const Exchange& exchange) {
  if (documents(exchange).empty()) return std::vector<OwnObject>();
  const auto& list = exchange.target().list;
  ZOO_TRY(const auto labels, translate::parse_label_selector(list.label_selector));
  ZOO_TRY(const auto fields, translate::parse_field_selector(list.field_selector));
  std::vector<OwnObject> out;
  for (const auto& document : documents(exchange)) {
    const bool named =
        std::all_of(fields.begin(), fields.end(), [&](const translate::FieldTerm& term) {
          return term.key == "metadata.name" ? (term.value == document.name) == term.equal
                                             : term.value.empty() == term.equal;
        });
    if (!named) continue;
    const auto tree = JsonTree::parse(document.json);
    if (!tree) continue;
    const auto given = tree->root()["metadata"]["labels"];
    const auto value = [&](const std::string& key) {
      const auto label = given[key];
      return label ? std::optional(label.string()) : std::nullopt;
    };
    if (std::all_of(labels.begin(), labels.end(),
                    [&](const auto& each) { return translate::fulfils(each, value(each.key)); })) {
      out.push_back({document.name, finished(exchange, document)});
    }
  }
  return out;
}

bool targets_own_object(const Exchange& exchange) {
  const auto& name = exchange.target().name;
  const auto& all = documents(exchange);
  return !name.empty() &&
         std::any_of(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
}

std::string own_item(const Rendering& rendering, const OwnObject& object) {
  const auto tree = JsonTree::parse(object.json);
  if (!tree) return object.json;
  const auto root = tree->root();
  switch (rendering.wanted.representation) {
  case Representation::partial:
  case Representation::partial_list:
    return metadata_alone(root);
  case Representation::table:
    break;
  default:
    return object.json;
  }
  const auto created = root["metadata"]["creationTimestamp"].string();
  std::string cells = "[" + json_quote(object.name);
  if (const auto reference = root["roleRef"]) {
    cells += "," + json_quote(reference["kind"].string() + "/" + reference["name"].string());
    cells += "," + json_quote(kube::age_at(kube::unix_now(), kube::unix_seconds(created)));
    for (const std::string_view kind : {"User", "Group", "ServiceAccount"})
      cells += "," + json_quote(subjects(root, kind));
  } else {
    cells += "," + json_quote(created);
  }
  std::string out = R"({"cells":)" + cells + ']';
  if (rendering.wanted.include == translate::IncludeObject::object) {
    out += R"(,"object":)" + object.json;
  } else if (rendering.wanted.include == translate::IncludeObject::metadata) {
    out += R"(,"object":)" + metadata_alone(root);
  }
  return out + '}';
}

std::string own_table_head(const Exchange& exchange) {
  constexpr std::string_view k_head =
      R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"1"},)"
      R"("columnDefinitions":[{"name":"Name","type":"string","format":"name","description":)"
      R"("Name must be unique.","priority":0})";
  std::string out(k_head);
  const auto column = [&out](std::string_view name, std::string_view type, int priority) {
    out += fmt::format(R"(,{{"name":"{}","type":"{}","format":"","description":"","priority":{}}})",
                       name, type, priority);
  };
  if (roles(exchange)) {
    column("Created At", "date", 0);
  } else {
    column("Role", "string", 0);
    column("Age", "string", 0);
    column("Users", "string", 1);
    column("Groups", "string", 1);
    column("ServiceAccounts", "string", 1);
  }
  return out + R"(],"rows":[)";
}

Completion completion_of(const Exchange& exchange) {
  if (!roles(exchange)) return nullptr;
  return [&exchange](std::string& object) {
    if (object.find("\"aggregationRule\"") == std::string::npos) return;
    const auto tree = JsonTree::parse(object);
    if (!tree) return;
    const auto root = tree->root();
    if (!root["aggregationRule"].is(translate::JsonType::object)) return;
    // A watch lives longer than the policy that it began with.
    auto policy = exchange.view().authorizer->known();
    if (!policy) policy = exchange.policy();
    const auto rules = rules_json(policy.get(), root);
    translate::JsonEdits edits;
    if (const auto old = root["rules"]) {
      edits.replace(old, rules);
    } else {
      edits.append(root, "rules", rules);
    }
    object = edits.apply(object);
  };
}

} // namespace zoo::gateway
