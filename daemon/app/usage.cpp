// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/usage.hpp"

#include <nlohmann/json.hpp>

namespace zoo::app {

std::string usage_json(const api::Tenant& tenant, const tenants::DefaultTerms& defaults,
                       const gateway::Ledger& ledger, const gateway::FlowControl& flow_control,
                       const nlohmann::json& hard) {
  using nlohmann::json;
  const auto terms = api::terms_of(tenant).value_or(api::Terms{});
  const auto quota = api::merged(defaults.quota, terms.quota);
  const auto flow = api::merged(defaults.flow, terms.flow);
  const auto used = ledger.used(tenant.uid);
  json ceilings = json::object();
  for (const auto& [what, limit] : quota) {
    auto& each = ceilings[std::string(api::counted_name(what))];
    each["limit"] = limit;
    if (const auto found = used.find(what); found != used.end()) each["used"] = found->second;
  }
  const auto load = flow_control.load(tenant.id);
  const auto share = [](std::uint64_t has, std::uint64_t limit) {
    return json{{"used", has}, {"limit", limit}};
  };
  json out = {{"quota", std::move(ceilings)},
              {"flow",
               {{"requestsInflight", share(load.in_flight + load.receiving, flow.requests)},
                {"mutationsInflight", share(load.mutations, flow.mutations)},
                {"longRunning", share(load.long_running, flow.long_running)},
                {"bufferedBytes", share(load.buffered, flow.buffered)},
                {"queued", load.queued},
                {"refused", load.refused}}}};
  if (hard.is_object()) out["hard"] = hard;
  return out.dump();
}

} // namespace zoo::app
