// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/limits.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace zoo::quota {
namespace {

/// The specification of scopes as one text, equal for equal scopes.
std::string scopes_json(const std::vector<Scope>& scopes) {
  std::string out;
  for (const auto& scope : scopes) {
    out += out.empty() ? "[" : ",";
    out += fmt::format(R"({{"scopeName":{},"operator":{})", json_quote(scope.name),
                       json_quote(scope.op));
    std::string values;
    for (const auto& value : scope.values)
      values += (values.empty() ? "" : ",") + json_quote(value);
    if (!values.empty()) out += R"(,"values":[)" + values + "]";
    out += '}';
  }
  return out.empty() ? out : out + ']';
}

using Words = std::span<const std::string_view>;
constexpr std::array<std::string_view, 6> k_compute = {
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"};
constexpr std::array<std::string_view, 9> k_numbers = {"pods",
                                                       "services",
                                                       "services.nodeports",
                                                       "services.loadbalancers",
                                                       "replicationcontrollers",
                                                       "secrets",
                                                       "configmaps",
                                                       "persistentvolumeclaims",
                                                       "resourcequotas"};
constexpr std::array<std::string_view, 4> k_storage = {
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
    "requests.storage"};

bool among(std::string_view name, Words words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

/// With a domain or a kind before a slash, as in count/deployments.apps.
bool qualified(std::string_view name) {
  const auto slash = name.find('/');
  return slash != std::string_view::npos && slash != 0 && slash + 1 < name.size() &&
         name.find('/', slash + 1) == std::string_view::npos;
}

/// Has the scope anything to do with the name (k8s.io/kubernetes pkg/apis/core/helper,
/// IsResourceQuotaScopeValidForResource)?
bool speaks_of(std::string_view scope, std::string_view name) {
  if (scope == "BestEffort") return name == "pods";
  if (scope == "VolumeAttributesClass")
    return name == "persistentvolumeclaims" || name == "requests.storage";
  return name == "pods" || among(name, k_compute);
}

/// Why no ResourceQuota may have this limit (k8s.io/kubernetes pkg/apis/core/validation,
/// ValidateResourceQuotaSpec); "": it may.
std::string trouble_with(std::string_view name, const kube::Quantity& amount,
                         const std::vector<Scope>& scopes) {
  const bool number = among(name, k_numbers);
  const bool standard = number || among(name, k_compute) || among(name, k_storage);
  const bool pages = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
  if (!standard && !pages && !qualified(name))
    return fmt::format("\"{}\" is nothing that a ResourceQuota counts", name);
  if ((number || name.starts_with("count/")) && amount.rounded_up() != amount)
    return fmt::format("\"{}\" is a number of objects, and {} is no integer", name, amount.text());
  for (const auto& scope : scopes)
    if ((standard || pages) && !speaks_of(scope.name, name))
      return fmt::format("scope {} has nothing to do with \"{}\"", scope.name, name);
  return {};
}

Limit& limit_of(std::vector<Limit>& limits, std::vector<Scope> scopes) {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const Limit& limit) { return limit.scopes == scopes; });
  if (found != limits.end()) return *found;
  auto& made = limits.emplace_back();
  made.slice_name = k_slice;
  if (!scopes.empty()) made.slice_name += '-' + crypto::short_digest(scopes_json(scopes));
  made.scopes = std::move(scopes);
  return made;
}

} // namespace

std::vector<Limit> limits_of(std::span<const QuotaSpec> quotas) {
  std::vector<Limit> out;
  for (const auto& quota : quotas) {
    const auto tree = translate::JsonTree::parse(quota.spec);
    if (!tree) continue;
    const auto hard = read_resources(tree->root()["hard"]);
    if (!hard || hard->empty()) continue;
    const auto scopes = scopes_of(tree->root());
    for (const auto& [name, amount] : *hard) {
      if (!trouble_with(name, amount, scopes).empty()) continue; // trouble_of() says why
      auto& limit = limit_of(out, scopes);
      const auto known = limit.hard.find(name);
      if (known != limit.hard.end() && known->second <= amount) continue;
      limit.hard.insert_or_assign(name, amount);
      limit.from.insert_or_assign(name, quota.name);
    }
  }
  return out;
}

std::string trouble_of(const QuotaSpec& quota) {
  const auto tree = translate::JsonTree::parse(quota.spec);
  if (!tree) return "spec.quota cannot be read";
  const auto hard = read_resources(tree->root()["hard"]);
  if (!hard) return "spec.quota.hard: " + hard.error().message();
  const auto scopes = scopes_of(tree->root());
  std::string out;
  for (const auto& [name, amount] : *hard)
    if (const auto trouble = trouble_with(name, amount, scopes); !trouble.empty())
      out += (out.empty() ? "" : "; ") + trouble;
  return out;
}

std::string resources_json(const ResourceList& list) {
  std::string out = "{";
  for (const auto& [name, amount] : list)
    out += (out.size() == 1 ? "" : ",") + json_quote(name) + ':' + json_quote(amount.text());
  return out + '}';
}

std::string slice_spec(const Limit& limit, const ResourceList& hard) {
  auto out = R"({"hard":)" + resources_json(hard);
  if (!limit.scopes.empty())
    out += R"(,"scopeSelector":{"matchExpressions":)" + scopes_json(limit.scopes) + '}';
  return out + '}';
}

Slice read_slice(translate::JsonNode resource_quota) {
  const auto list = [](translate::JsonNode node) {
    return read_resources(node).value_or(ResourceList{});
  };
  Slice out;
  out.spec = list(resource_quota["spec"]["hard"]);
  out.hard = list(resource_quota["status"]["hard"]);
  out.used = list(resource_quota["status"]["used"]);
  return out;
}

} // namespace zoo::quota
