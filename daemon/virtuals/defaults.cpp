// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/defaults.hpp"

#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace zoo::virtuals {
namespace {

using nlohmann::json;

json condition(std::string_view type, std::string_view status, std::string_view reason,
               std::string_view message, const std::string& time) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", time}};
}

class Maker {
public:
  Maker(const Kind& kind, const Owner& owner, const std::string& created)
      : kind_(kind), owner_(owner), created_(created) {}

  void add(const std::string& name, json members) {
    json metadata{{"name", name},
                  {"uid", crypto::uuid_v8(record_key(owner_, kind_, name))},
                  {"creationTimestamp", created_},
                  {"generation", 1}};
    if (kind_.read_only) metadata = {{"name", name}};
    if (kind_.group == "flowcontrol.apiserver.k8s.io")
      metadata["annotations"] = {{"apf.kubernetes.io/autoupdate-spec", "true"}};
    if (kind_.resource == "apiservices") {
      metadata["labels"] = {{"kube-aggregator.kubernetes.io/automanaged", "onstart"}};
      metadata.erase("generation");
    }
    members["apiVersion"] = kind_.api_version();
    members["kind"] = kind_.kind;
    members["metadata"] = std::move(metadata);
    // 1: what nobody ever changes has no revision of its own.
    out.push_back(make_object(kind_, std::move(members), 1));
  }

  std::vector<ObjectPtr> out;

private:
  const Kind& kind_;
  const Owner& owner_;
  const std::string& created_;
};

/// The mandatory ones and those that Kubernetes suggests and makes at its first start.
struct Flow {
  std::string_view name, level;
  int precedence;
  std::string_view distinguisher; ///< "" is none
  std::string_view subjects;      ///< JSON
  std::string_view rules{};       ///< members of a rule; "" is everything
};

constexpr std::string_view k_everybody =
    R"([{"kind":"Group","group":{"name":"system:unauthenticated"}},)"
    R"({"kind":"Group","group":{"name":"system:authenticated"}}])";
constexpr std::string_view k_everything =
    R"({"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,)"
    R"("namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]})";
constexpr std::string_view k_nodes = R"([{"kind":"Group","group":{"name":"system:nodes"}}])";
constexpr std::string_view k_manager =
    R"([{"kind":"User","user":{"name":"system:kube-controller-manager"}}])";
constexpr std::string_view k_scheduler =
    R"([{"kind":"User","user":{"name":"system:kube-scheduler"}}])";
constexpr std::string_view k_system_accounts =
    R"([{"kind":"ServiceAccount","serviceAccount":{"namespace":"kube-system","name":"*"}}])";
constexpr std::string_view k_leaders =
    R"([{"kind":"User","user":{"name":"system:kube-controller-manager"}},)"
    R"({"kind":"User","user":{"name":"system:kube-scheduler"}},)"
    R"({"kind":"ServiceAccount","serviceAccount":{"namespace":"kube-system","name":"*"}}])";

constexpr std::array k_flows{
    Flow{"catch-all", "catch-all", 10000, "ByUser", k_everybody},
    Flow{"exempt", "exempt", 1, "", R"([{"kind":"Group","group":{"name":"system:masters"}}])"},
    Flow{"global-default", "global-default", 9900, "ByUser", k_everybody},
    Flow{"kube-controller-manager", "workload-high", 800, "ByNamespace", k_manager},
    Flow{"kube-scheduler", "workload-high", 800, "ByNamespace", k_scheduler},
    Flow{"kube-system-service-accounts", "workload-high", 900, "ByNamespace", k_system_accounts},
    Flow{"probes", "exempt", 2, "", k_everybody,
         R"({"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/healthz","/readyz",)"
         R"("/livez"]}]})"},
    Flow{"service-accounts", "workload-low", 9000, "ByUser",
         R"([{"kind":"Group","group":{"name":"system:serviceaccounts"}}])"},
    Flow{"system-leader-election", "leader-election", 100, "ByUser", k_leaders,
         R"({"resourceRules":[{"verbs":["get","create","update"],)"
         R"("apiGroups":["coordination.k8s.io"],"resources":["leases"],"namespaces":["*"]}]})"},
    Flow{
        "system-node-high", "node-high", 400, "ByUser", k_nodes,
        R"({"resourceRules":[{"verbs":["*"],"apiGroups":[""],"resources":["nodes","nodes/status"],)"
        R"("clusterScope":true,"namespaces":["*"]},{"verbs":["*"],)"
        R"("apiGroups":["coordination.k8s.io"],"resources":["leases"],"namespaces":["*"]}]})"},
    Flow{"system-nodes", "system", 500, "ByUser", k_nodes},
};

struct Level {
  std::string_view name;
  int shares, lendable;
  int queues = 0, hand = 0; ///< 0: what does not fit is refused
};
constexpr std::array k_levels{
    Level{"catch-all", 5, 0},
    Level{"exempt", 0, 0},
    Level{"global-default", 20, 50, 128, 6},
    Level{"leader-election", 10, 0, 16, 4},
    Level{"node-high", 40, 25, 64, 6},
    Level{"system", 30, 33, 64, 6},
    Level{"workload-high", 40, 50, 128, 6},
    Level{"workload-low", 100, 90, 128, 6},
};

void add_flows(Maker& maker, const std::string& created) {
  for (const auto& flow : k_flows) {
    auto rule = json::parse(flow.rules.empty() ? k_everything : flow.rules);
    rule["subjects"] = json::parse(flow.subjects);
    json spec{{"priorityLevelConfiguration", {{"name", flow.level}}},
              {"matchingPrecedence", flow.precedence},
              {"rules", json::array({std::move(rule)})}};
    if (!flow.distinguisher.empty()) spec["distinguisherMethod"] = {{"type", flow.distinguisher}};
    const auto found = condition(
        "Dangling", "False", "Found",
        fmt::format("This FlowSchema references the PriorityLevelConfiguration object named "
                    "\"{}\" and it exists",
                    flow.level),
        created);
    maker.add(std::string(flow.name),
              {{"spec", std::move(spec)}, {"status", {{"conditions", {found}}}}});
  }
}

void add_levels(Maker& maker) {
  for (const auto& level : k_levels) {
    json shares{{"nominalConcurrencyShares", level.shares}, {"lendablePercent", level.lendable}};
    json spec{{"type", "Limited"}, {"limited", shares}};
    if (level.name == "exempt") spec = {{"type", "Exempt"}, {"exempt", shares}};
    if (level.queues > 0) {
      spec["limited"]["limitResponse"] = {
          {"type", "Queue"},
          {"queuing",
           {{"queues", level.queues}, {"handSize", level.hand}, {"queueLengthLimit", 50}}}};
    } else if (level.name != "exempt") {
      spec["limited"]["limitResponse"] = {{"type", "Reject"}};
    }
    maker.add(std::string(level.name), {{"spec", std::move(spec)}, {"status", json::object()}});
  }
}

void add_services(Maker& maker, const std::string& created, const ServedGroups& served) {
  const auto local =
      condition("Available", "True", "Local", "Local APIServices are always available", created);
  for (const auto& [name, version] : served) {
    json spec{{"version", version},
              {"groupPriorityMinimum", name.empty() ? 18000 : 17000},
              {"versionPriority", version.find_first_of("ab") == std::string::npos ? 15 : 9}};
    if (!name.empty()) spec["group"] = name;
    maker.add(fmt::format("{}.{}", version, name),
              {{"spec", std::move(spec)}, {"status", {{"conditions", {local}}}}});
  }
}

void add_components(Maker& maker) {
  for (const auto* name : {"controller-manager", "etcd-0", "scheduler"})
    maker.add(name,
              {{"conditions",
                json::array({{{"type", "Healthy"}, {"status", "True"}, {"message", "ok"}}})}});
}

} // namespace

bool provides_level(std::string_view name) {
  return std::any_of(k_levels.begin(), k_levels.end(),
                     [&](const Level& each) { return each.name == name; });
}

std::vector<ObjectPtr> provided(const Kind& kind, const Owner& owner, const std::string& created,
                                const ServedGroups& served) {
  Maker maker(kind, owner, created);
  if (kind.resource == "flowschemas") add_flows(maker, created);
  if (kind.resource == "prioritylevelconfigurations") add_levels(maker);
  if (kind.resource == "apiservices") add_services(maker, created, served);
  if (kind.resource == "componentstatuses") add_components(maker);
  std::sort(maker.out.begin(), maker.out.end(),
            [](const ObjectPtr& a, const ObjectPtr& b) { return a->name < b->name; });
  return std::move(maker.out);
}

} // namespace zoo::virtuals
