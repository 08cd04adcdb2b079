// SPDX-License-Identifier: Apache-2.0
#include "daemon/quota/cost.hpp"

#include "daemon/quota/pod_usage.hpp"

#include <algorithm>

namespace zoo::quota {

Result<Cost> cost_of(const Counted& kind, translate::JsonNode object,
                     std::chrono::system_clock::time_point now) {
  Cost out;
  ZOO_TRY(out.all, usage_of(kind, object, now));
  out.facts = scope_facts(kind, object);
  if (out.facts.kind == ScopeFacts::Kind::pod && out.all.contains("pods"))
    out.ends = pod_charge_ends(object);
  return out;
}

ResourceList charged(const Cost& cost, const Limit& limit) {
  if (!in_scope(limit.scopes, cost.facts)) return {};
  auto out = only(cost.all, limit.hard);
  std::erase_if(out, [](const auto& entry) { return entry.second.zero(); });
  return out;
}

std::string object_key(const Counted& kind, std::string_view name) {
  std::string out(kind.resource);
  if (!kind.group.empty()) out += '.' + std::string(kind.group);
  return out + '/' + std::string(name);
}

bool within(const ResourceList& a, const ResourceList& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& entry) {
    const auto found = b.find(entry.first);
    return entry.second <= (found == b.end() ? kube::Quantity{} : found->second);
  });
}

void subtract(ResourceList& from, const ResourceList& less) {
  for (const auto& [name, amount] : less) {
    auto [found, fresh] = from.try_emplace(name);
    found->second -= amount;
    if (found->second.zero()) from.erase(found);
  }
}

ResourceList larger(ResourceList a, const ResourceList& b) {
  for (const auto& [name, amount] : b) {
    auto [found, fresh] = a.try_emplace(name, amount);
    if (!fresh) found->second = std::max(found->second, amount);
  }
  return a;
}

std::string amounts_text(const ResourceList& list) {
  std::string out;
  for (const auto& [name, amount] : list)
    out += (out.empty() ? "" : ",") + name + '=' + amount.text();
  return out;
}

} // namespace zoo::quota
