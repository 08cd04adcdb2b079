// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metrics.hpp"

#include "common/base/metric_text.hpp"
#include "daemon/tenants/certificates.hpp"

#include <array>
#include <map>
#include <vector>

namespace zoo::admin {
namespace {

using Type = MetricText::Type;

constexpr std::array k_phases = {api::Phase::pending, api::Phase::ready, api::Phase::suspended,
                                 api::Phase::deleting, api::Phase::failed};

} // namespace

Answer metrics_answer(StatusSource& source, tenants::TenantService& tenants) {
  std::map<api::Phase, std::size_t> phases;
  std::vector<std::string> ending;
  std::size_t ending_in_all = 0;
  for (std::string after;;) {
    auto page = tenants.list(after, 500);
    if (!page) return failure(page.error());
    for (const auto& tenant : page->items) {
      ++phases[tenant.phase == api::Phase::none ? api::Phase::pending : tenant.phase];
      const auto* condition = tenant.condition(tenants::k_expiring);
      if (condition == nullptr || condition->status != "True") continue;
      if (++ending_in_all <= k_most_named) ending.push_back(tenant.id);
    }
    after = page->next;
    if (after.empty()) break;
  }
  MetricText text;
  source.metrics(text);
  text.family("zood_tenants", Type::gauge, "Tenants by phase");
  for (const auto phase : k_phases)
    text.sample(static_cast<double>(phases[phase]), {{"phase", api::phase_name(phase)}});
  text.family("zood_tenants_certificate_expiring", Type::gauge,
              "Tenants with a certificate that ends soon (tenants.certificate_warning)");
  text.sample(static_cast<double>(ending_in_all));
  text.family("zood_tenant_certificate_expiring", Type::gauge,
              "1 for each of them, a thousand at most: zooctl tenant certificates TENANT");
  for (const auto& id : ending)
    text.sample(1, {{"tenant", id}});
  Answer answer;
  answer.content_type = k_metric_text;
  answer.headers.add("Cache-Control", "no-store");
  answer.body = text.take();
  return answer;
}

} // namespace zoo::admin
