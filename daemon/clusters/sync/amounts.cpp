// SPDX-License-Identifier: Apache-2.0
#include "daemon/clusters/sync/amounts.hpp"

#include "common/kube/json_reads.hpp"

#include <algorithm>

namespace zoo::clusters::sync {
namespace {

using kube::Quantity;
using nlohmann::json;
using Sums = std::map<std::string, Quantity>;

void add_list(Sums& to, const json& resources) {
  if (!resources.is_object()) return;
  for (const auto& [name, value] : resources.items()) {
    const auto text = value.is_string()   ? value.get<std::string>()
                      : value.is_number() ? value.dump()
                                          : std::string();
    if (const auto amount = Quantity::parse(text); amount && !amount->negative())
      to[name] += *amount;
  }
}

/// A limit without a request is both (k8s.io/kubernetes/pkg/apis/core/v1 SetDefaults_Pod).
Sums requests_of(const json& container) {
  Sums out;
  const auto resources = container.value("resources", json::object());
  if (!resources.is_object()) return out;
  add_list(out, resources.value("limits", json::object()));
  Sums asked;
  add_list(asked, resources.value("requests", json::object()));
  for (const auto& [name, amount] : asked)
    out[name] = amount;
  return out;
}

void raise_to(Sums& to, const Sums& others) {
  for (const auto& [name, amount] : others)
    to[name] = std::max(to[name], amount);
}

Sums summed(const json& pod) {
  Sums out;
  for (const auto& each : kube::list_at(pod, "/spec/containers"))
    for (const auto& [name, amount] : requests_of(each))
      out[name] += amount;
  // Those that go on beside the containers count with each init container behind them, and with
  // all.
  Sums beside, starting;
  for (const auto& each : kube::list_at(pod, "/spec/initContainers")) {
    auto own = requests_of(each);
    const bool goes_on = each.is_object() && each.value("restartPolicy", json()) == "Always";
    if (goes_on) {
      for (const auto& [name, amount] : own)
        beside[name] += amount;
      raise_to(starting, beside);
      continue;
    }
    for (const auto& [name, amount] : beside)
      own[name] += amount;
    raise_to(starting, own);
  }
  for (const auto& [name, amount] : beside)
    out[name] += amount;
  raise_to(out, starting);
  const json::json_pointer whole("/spec/resources/requests");
  if (pod.contains(whole)) {
    Sums asked;
    add_list(asked, pod.at(whole));
    for (const auto& [name, amount] : asked)
      out[name] = amount;
  }
  // What its RuntimeClass takes beside the containers, whatever these say of the whole.
  const json::json_pointer overhead("/spec/overhead");
  if (pod.contains(overhead)) add_list(out, pod.at(overhead));
  out["pods"] = Quantity::of(1);
  return out;
}

Amounts listed(const Sums& sums) {
  Amounts out;
  for (const auto& [name, amount] : sums)
    if (!amount.zero()) out.emplace_back(name, amount);
  return out;
}

} // namespace

Quantity amount_of(const Amounts& amounts, std::string_view resource) {
  for (const auto& [name, amount] : amounts)
    if (name == resource) return amount;
  return {};
}

void add(Sums& to, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts)
    to[name] += amount;
}

void take(Sums& from, const Amounts& amounts) {
  for (const auto& [name, amount] : amounts)
    from[name] -= amount;
}

Amounts pod_requests(const json& pod) { return listed(summed(pod)); }

Amounts pod_claims(const json& pod) {
  static const auto cpu = Quantity::parse(k_least_cpu).value_or(Quantity());
  static const auto memory = Quantity::parse(k_least_memory).value_or(Quantity());
  auto sums = summed(pod);
  for (const auto& [name, least] : {std::pair("cpu", &cpu), std::pair("memory", &memory)})
    if (auto& sum = sums[name]; sum == Quantity()) sum = *least;
  return listed(sums);
}

Amounts pod_claims(json pod, const std::vector<std::string>& containers) {
  if (!pod.is_object() || !pod.contains("spec") || !pod["spec"].is_object()) return pod_claims(pod);
  for (const char* list : {"containers", "initContainers"}) {
    const auto found = pod["spec"].find(list);
    if (found == pod["spec"].end() || !found->is_array()) continue;
    json own = json::array();
    for (auto& each : *found)
      if (std::find(containers.begin(), containers.end(), kube::text_at(each, "/name")) !=
          containers.end())
        own.push_back(std::move(each));
    *found = std::move(own);
  }
  return pod_claims(pod);
}

Amounts larger_of(const Amounts& one, const Amounts& other) {
  Sums sums(one.begin(), one.end());
  raise_to(sums, Sums(other.begin(), other.end()));
  return listed(sums);
}

} // namespace zoo::clusters::sync
