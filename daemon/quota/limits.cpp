// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/limits.hpp"

#include "common/base/json_text.hpp"
#include "common/crypto/digest.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    auto& limit = limit_of(out, scopes_of(tree->root()));
    for (const auto& [name, amount] : *hard) {
      const auto known = limit.hard.find(name);
      if (known != limit.hard.end() && known->second <= amount) continue;
      limit.hard.insert_or_assign(name, amount);
      limit.from.insert_or_assign(name, quota.name);
    }
  }
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
