// SPDX-License-Identifier: Apache-2.0
#include "daemon/accounts/quota_answers.hpp"

#include "daemon/accounts/json_reads.hpp"
#include "daemon/accounts/quota_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace zoo::accounts {
namespace {

using kube::Quantity;
using nlohmann::json;
using quota::ResourceList;

constexpr std::size_t k_shown_objects = 10;
constexpr std::int64_t k_most_replicas = 1'000'000;

Quantity amount(const ResourceList& list, std::string_view name) {
  const auto found = list.find(name);
  return found == list.end() ? Quantity{} : found->second;
}

struct Workload {
  std::string_view kind, replicas, pod; ///< where its number and its pod stand
};
constexpr std::array<Workload, 6> k_workloads = {
    {{"Deployment", "/spec/replicas", "/spec/template"},
     {"ReplicaSet", "/spec/replicas", "/spec/template"},
     {"StatefulSet", "/spec/replicas", "/spec/template"},
     {"ReplicationController", "/spec/replicas", "/spec/template"},
     {"Job", "/spec/parallelism", "/spec/template"},
     {"CronJob", "/spec/jobTemplate/spec/parallelism", "/spec/jobTemplate/spec/template"}}};

/// "NetworkPolicy" -> "networkpolicies", as Kubernetes names its own kinds.
std::string plural_of(std::string kind) {
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (kind.ends_with("s") || kind.ends_with("x")) return kind + "es";
  if (kind.ends_with("y") && !kind.ends_with("ay") && !kind.ends_with("ey"))
    return kind.substr(0, kind.size() - 1) + "ies";
  return kind + "s";
}

Result<quota::Cost> cost_of(const std::string& group, const std::string& resource,
                            const json& object) {
  const auto text = object.dump();
  ZOO_TRY(const auto tree, translate::JsonTree::parse(text));
  return quota::cost_of({group, resource}, tree.root(), std::chrono::system_clock::now());
}

/// What an object costs, so many times.
quota::Cost times(const quota::Cost& one, std::int64_t count) {
  quota::Cost out = one;
  for (auto& [name, total] : out.all) {
    // By doubling: a quantity has no product.
    Quantity sum, power = total;
    for (auto left = count; left > 0; left /= 2) {
      if (left % 2 == 1) sum += power;
      power += power;
    }
    total = sum;
  }
  return out;
}

} // namespace

json quota_state(const quota::Judge& judge, std::string_view owner) {
  const auto* known = judge.owner(owner);
  if (known == nullptr) return nullptr;
  json limits = json::array();
  for (const auto& limit : known->limits) {
    const auto counts = judge.count(std::string(owner), limit.slice_name);
    json resources = json::array();
    for (const auto& [name, hard] : limit.hard) {
      Quantity used, asked;
      json spaces = json::array();
      for (const auto& count : counts) {
        used += amount(count.used, name);
        asked += amount(count.asked, name);
        spaces.push_back({{"space", count.space},
                          {"used", amount(count.used, name).text()},
                          {"asked", amount(count.asked, name).text()},
                          {"slice", amount(count.hard, name).text()}});
      }
      const auto free = hard - used - asked;
      const auto from = limit.from.find(name);
      resources.push_back({{"name", name},
                           {"limit", hard.text()},
                           {"from", from == limit.from.end() ? "" : from->second},
                           {"used", used.text()},
                           {"asked", asked.text()},
                           {"free", free.negative() ? "0" : free.text()},
                           {"spaces", std::move(spaces)}});
    }
    json scopes = json::array();
    for (const auto& scope : limit.scopes) {
      auto text = scope.name;
      if (scope.op != "Exists") {
        text += ' ' + scope.op;
        for (const auto& value : scope.values)
          text += ' ' + value;
      }
      scopes.push_back(std::move(text));
    }
    limits.push_back({{"slice", limit.slice_name},
                      {"scopes", std::move(scopes)},
                      {"resources", std::move(resources)}});
  }
  return {{"owner", owner}, {"title", known->title}, {"limits", std::move(limits)}};
}

json quota_use(const quota::Judge& judge, std::string_view owner) {
  const auto* known = judge.owner(owner);
  if (known == nullptr) return nullptr;
  auto out = json::object();
  for (const auto& limit : known->limits) {
    if (!limit.scopes.empty()) continue;
    const auto counts = judge.count(std::string(owner), limit.slice_name);
    for (const auto& [name, hard] : limit.hard) {
      Quantity used;
      for (const auto& count : counts)
        used += amount(count.used, name);
      out[name] = {{"used", used.text()}, {"limit", hard.text()}};
    }
  }
  return out;
}

Result<Wanted> wanted_of(const json& objects) {
  Wanted out;
  if (!objects.is_array()) return fail(Code::invalid, "objects must be a list");
  for (const auto& object : objects) {
    const auto kind = text_at(object, "/kind"), version = text_at(object, "/apiVersion");
    if (kind.empty() || version.empty())
      return fail(Code::invalid, "an object has no apiVersion and kind");
    const auto slash = version.find('/');
    const auto group = slash == std::string::npos ? std::string() : version.substr(0, slash);
    const auto title = fmt::format("{} {}", kind, text_at(object, "/metadata/name"));
    auto own = cost_of(group, plural_of(kind), object);
    if (!own) return fail(std::move(own).error().context("in {}", title));
    out.costs.push_back(*std::move(own));
    if (kind == "DaemonSet") out.unknown.push_back(title + ": one pod for each node");
    if (kind == "HorizontalPodAutoscaler") out.unknown.push_back(title + ": as many as it makes");
    const auto workload = std::find_if(k_workloads.begin(), k_workloads.end(),
                                       [&](const Workload& each) { return each.kind == kind; });
    if (workload == k_workloads.end()) continue;
    const json::json_pointer replicas{std::string(workload->replicas)},
        pod{std::string(workload->pod)};
    if (!object.contains(pod)) continue;
    std::int64_t count = 1;
    if (object.contains(replicas) && object.at(replicas).is_number_integer())
      count = std::clamp<std::int64_t>(object.at(replicas).get<std::int64_t>(), 0, k_most_replicas);
    auto one = cost_of("", "pods", object.at(pod));
    if (!one) return fail(std::move(one).error().context("in the pods of {}", title));
    if (count > 0) out.costs.push_back(times(*one, count));
  }
  return out;
}

json quota_explanation(const quota::Judge& judge, std::string_view owner, const Wanted& wanted) {
  auto out = quota_state(judge, owner);
  const auto* known = judge.owner(owner);
  if (known == nullptr) return out;
  ResourceList needs;
  json full = json::array();
  std::set<std::string> unset;
  for (const auto& limit : known->limits) {
    ResourceList here;
    for (const auto& cost : wanted.costs) {
      quota::add(here, quota::charged(cost, limit));
      if (!cost.all.contains("pods")) continue;
      for (const auto& [name, hard] : limit.hard)
        if ((name.starts_with("requests.") || name.starts_with("limits.") || name == "cpu" ||
             name == "memory") &&
            quota::kind_of_name(name) == "pods" && name.find('/') == std::string::npos &&
            !cost.all.contains(name) && quota::in_scope(limit.scopes, cost.facts))
          unset.insert(name);
    }
    needs = quota::larger(std::move(needs), here);
    const auto counts = judge.count(std::string(owner), limit.slice_name);
    for (const auto& [name, more] : here) {
      auto used = more;
      for (const auto& count : counts)
        used += amount(count.used, name) + amount(count.asked, name);
      if (used <= limit.hard.at(name)) continue;
      json holders = json::array();
      for (const auto& count : counts) {
        auto objects = judge.objects(count.space, limit, name, k_shown_objects + 1);
        if (objects.empty()) continue;
        const bool others = objects.size() > k_shown_objects;
        if (others) objects.pop_back();
        holders.push_back({{"space", count.space}, {"objects", objects}, {"more", others}});
      }
      const auto from = limit.from.find(name);
      full.push_back({{"resource", name},
                      {"quota", from == limit.from.end() ? "" : from->second},
                      {"holders", std::move(holders)}});
    }
  }
  out["needs"] = as_json(needs);
  out["fits"] = full.empty() && unset.empty();
  out["full"] = std::move(full);
  out["unset"] = unset;
  out["unknown"] = wanted.unknown;
  return out;
}

} // namespace zoo::accounts
