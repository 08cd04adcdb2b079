// SPDX-License-Identifier: Apache-2.0
#include "daemon/virtuals/defaults.hpp"

#include "common/crypto/digest.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

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

json everything() {
  return {{"resourceRules",
           {{{"verbs", {"*"}},
             {"apiGroups", {"*"}},
             {"resources", {"*"}},
             {"clusterScope", true},
             {"namespaces", {"*"}}}}},
          {"nonResourceRules", {{{"verbs", {"*"}}, {"nonResourceURLs", {"*"}}}}}};
}

json group(std::string_view name) { return {{"kind", "Group"}, {"group", {{"name", name}}}}; }

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

void add_flows(Maker& maker, const std::string& created) {
  const auto flow = [&](const std::string& name, int precedence, json subjects, bool by_user) {
    auto rule = everything();
    rule["subjects"] = std::move(subjects);
    json spec{{"priorityLevelConfiguration", {{"name", name}}},
              {"matchingPrecedence", precedence},
              {"rules", json::array({std::move(rule)})}};
    if (by_user) spec["distinguisherMethod"] = {{"type", "ByUser"}};
    const auto found = condition(
        "Dangling", "False", "Found",
        fmt::format("This FlowSchema references the PriorityLevelConfiguration object named "
                    "\"{}\" and it exists",
                    name),
        created);
    maker.add(name, {{"spec", std::move(spec)}, {"status", {{"conditions", {found}}}}});
  };
  flow("catch-all", 10000,
       json::array({group("system:unauthenticated"), group("system:authenticated")}), true);
  flow("exempt", 1, json::array({group("system:masters")}), false);
}

void add_levels(Maker& maker) {
  maker.add("catch-all", {{"spec",
                           {{"type", "Limited"},
                            {"limited",
                             {{"nominalConcurrencyShares", 5},
                              {"lendablePercent", 0},
                              {"limitResponse", {{"type", "Reject"}}}}}}},
                          {"status", json::object()}});
  maker.add("exempt", {{"spec",
                        {{"type", "Exempt"},
                         {"exempt", {{"nominalConcurrencyShares", 0}, {"lendablePercent", 0}}}}},
                       {"status", json::object()}});
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
