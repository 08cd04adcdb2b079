// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metrics.hpp"

#include "common/base/metric_text.hpp"

#include <array>

namespace zoo::admin {
namespace {

using Type = MetricText::Type;

constexpr std::array k_phases = {api::Phase::pending, api::Phase::ready, api::Phase::suspended,
                                 api::Phase::deleting, api::Phase::failed};

} // namespace

Answer metrics_answer(StatusSource& source, tenants::TenantService& tenants) {
  auto census = tenants.census();
  if (!census) return failure(census.error());
  MetricText text;
  source.metrics(text);
  text.family("zood_tenants", Type::gauge, "Tenants by phase");
  for (const auto phase : k_phases)
    text.sample(static_cast<double>(census->phases[phase]), {{"phase", api::phase_name(phase)}});
  text.family("zood_tenants_certificate_expiring", Type::gauge,
              "Tenants with a certificate that ends soon (tenants.certificate_warning)");
  text.sample(static_cast<double>(census->expiring));
  text.family("zood_tenant_certificate_expiring", Type::gauge,
              "1 for each of them, a thousand at most: zooctl tenant certificates TENANT");
  for (const auto& id : census->expiring_ids)
    text.sample(1, {{"tenant", id}});
  Answer answer;
  answer.content_type = k_metric_text;
  answer.headers.add("Cache-Control", "no-store");
  answer.body = text.take();
  return answer;
}

} // namespace zoo::admin
