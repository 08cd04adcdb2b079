// SPDX-License-Identifier: Apache-2.0
#include "daemon/translate/admission_fence.hpp"

#include "common/base/json_text.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

namespace zoo::translate {
namespace {

// Services: externalIPs. Claims and Ingresses: the platform's volumes and classes, hosts.
// Endpoints: guards.endpoints. Policies: whom they let in. RBAC: what it is stored as, and zood's
// own binding. Tokens: for whom. Bindings: the node. And what kubelets and controllers write into a
// status: addresses, allocations. Pods themselves stay: it is what mutation is used for most.
constexpr std::array<std::string_view, 12> k_reaching = {
    "/services",
    "/persistentvolumeclaims",
    "/endpoints",
    "/serviceaccounts",
    "/bindings",
    "discovery.k8s.io/endpointslices",
    "networking.k8s.io/ingresses",
    "networking.k8s.io/networkpolicies",
    "rbac.authorization.k8s.io/roles",
    "rbac.authorization.k8s.io/rolebindings",
    "resource.k8s.io/resourceclaims",
    "resource.k8s.io/resourceclaimtemplates",
};

constexpr std::string_view k_looks = "ValidatingWebhookConfiguration";

constexpr std::string_view k_conditions = "matchConditions";

// What zood reaches a tenant's webhook by, and what it keeps in each of the tenant's namespaces.
constexpr std::string_view k_not_zoods =
    "!(has(request.subResource) && request.subResource == 'portforward' && "
    "!(has(request.userInfo.groups) && 'zoo:tenants' in request.userInfo.groups)) && "
    "!(has(request.name) && (request.resource.group + '/' + request.resource.resource + '/' + "
    "request.name) in ['/configmaps/zoo-root-ca.crt', "
    "'networking.k8s.io/networkpolicies/zoo-baseline', "
    "'rbac.authorization.k8s.io/rolebindings/zoo-tenant']) && "
    "!(request.resource.group == '' && request.resource.resource == 'resourcequotas' && "
    "has(request.name) && request.name.startsWith('zoo-quota'))";

/// What has conditions: each webhook, or the policy's spec.
std::vector<JsonNode> places(JsonNode root) {
  if (const auto hooks = root["webhooks"]) return hooks.children();
  if (const auto spec = root["spec"]; spec.is(JsonType::object)) return {spec};
  return {};
}

JsonNode fence_of(JsonNode place) {
  for (auto each = place[k_conditions].first(); each; each = each.next()) {
    if (each["name"].string() == k_fence_condition) return each;
  }
  return {};
}

} // namespace

/// What kubelets and the scheduler write is left alone by webhooks that look, too: each would wait
/// for one tenant's, in loops that serve all. Statuses of the tenant's own kinds are its own. A
/// port that the relay of webhooks forwards must not wait for the webhook that it leads to, and the
/// objects that zood keeps are there before any pod that could answer.
std::string fence_expression(std::string_view kind, const Mapping& mapping) {
  const auto theirs =
      fmt::format("!(has(request.subResource) && request.subResource in ['binding', 'status'] && "
                  "!request.resource.group.startsWith('{}')) && {}",
                  mapping.prefix(), k_not_zoods);
  if (kind == k_looks) return theirs;
  return fmt::format(
      "!((request.resource.group + '/' + request.resource.resource) in ['{}']) && {}",
      fmt::join(k_reaching, "', '"), theirs);
}

bool is_theirs(std::string_view resource) {
  return resource.ends_with("/status") || resource.ends_with("/binding");
}

bool reaches_out(std::string_view group, std::string_view resource) {
  if (builtin_group(group) && is_theirs(resource)) return true;
  const auto name = std::string(group) + '/' + std::string(resource.substr(0, resource.find('/')));
  return std::find(k_reaching.begin(), k_reaching.end(), name) != k_reaching.end();
}

bool has_fence(std::string_view kind) {
  return kind == "MutatingWebhookConfiguration" || kind == "MutatingAdmissionPolicy" ||
         kind == k_looks;
}

Result<std::string> fence_in(std::string_view kind, const Mapping& mapping, std::string object) {
  ZOO_TRY(const auto tree, JsonTree::parse(object));
  const auto condition =
      fmt::format(R"({{"name":{},"expression":{}}})", json_quote(k_fence_condition),
                  json_quote(fence_expression(kind, mapping)));
  JsonEdits edits;
  for (const auto place : places(tree.root())) {
    if (!place.is(JsonType::object)) continue; // upstream says what is wrong
    if (fence_of(place))
      return fail(Code::forbidden, "match condition {} is reserved", json_quote(k_fence_condition));
    if (const auto seconds = place["timeoutSeconds"];
        seconds.integer().value_or(0) > k_longest_webhook)
      edits.replace(seconds, std::to_string(k_longest_webhook));
    const auto conditions = place[k_conditions];
    if (conditions.is(JsonType::array)) {
      // Behind the tenant's own: a JSON patch counts.
      edits.replace(conditions.end() - 1, conditions.end() - 1,
                    (conditions.first() ? "," : "") + condition);
    } else if (!conditions) {
      edits.append(place, k_conditions, '[' + condition + ']');
    } else if (conditions.is(JsonType::null)) {
      edits.replace(conditions, '[' + condition + ']');
    }
  }
  return edits.apply(object);
}

Result<std::string> fence_out(std::string object) {
  if (object.find(k_fence_condition) == std::string::npos) return object;
  ZOO_TRY(const auto tree, JsonTree::parse(object));
  JsonEdits edits;
  for (const auto place : places(tree.root())) {
    const auto fence = fence_of(place);
    if (!fence) continue;
    const auto conditions = place[k_conditions];
    if (conditions.children().size() == 1) {
      edits.remove(place, conditions);
    } else {
      edits.remove(conditions, fence);
    }
  }
  return edits.apply(object);
}

Result<void> prove_fence(std::string_view kind, const Mapping& mapping, JsonNode root) {
  const auto wanted = fence_expression(kind, mapping);
  for (const auto place : places(root)) {
    if (fence_of(place)["expression"].string() != wanted)
      return fail(Code::forbidden, "it would act on objects that reach beyond the tenant");
    if (place["timeoutSeconds"].integer().value_or(0) > k_longest_webhook)
      return fail(Code::forbidden, "its webhook may take longer than {} seconds",
                  k_longest_webhook);
  }
  return {};
}

} // namespace zoo::translate
