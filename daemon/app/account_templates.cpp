// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// What templates have to do with the rest: when a space is open for them, and what is said of them.
namespace zoo::app {

void AccountViews::touch_templates(const accounts::State& before, const accounts::State& now,
                                   const accounts::Touched& touched) {
  if (touched.everything) return writes_.templates().missed();
  for (const auto& name : touched.spaces) {
    const auto was = before.spaces.find(name), is = now.spaces.find(name);
    if (is && (!was || was->initializing != is->initializing || was->account != is->account))
      writes_.templates().space_changed(name);
  }
}

void AccountViews::add_template_findings(std::vector<tenants::Finding>& out) const {
  using Level = tenants::Finding::Level;
  constexpr std::size_t k_most = 5;
  const std::string subject = "templates";
  const auto failed = writes_.templates().table().failed();
  for (std::size_t i = 0; i < failed.size() && i < k_most; ++i) {
    const auto& one = failed[i];
    out.push_back({Level::warning, subject,
                   fmt::format("instance {}/{} of template {} has failed: {}", one.name_space,
                               one.name, one.template_name, one.reason),
                   fmt::format("zooctl template status -n {}", one.name_space)});
  }
  if (failed.size() > k_most)
    out.push_back({Level::warning, subject,
                   fmt::format("{} more instances have failed", failed.size() - k_most),
                   "kubectl get templateinstances -A"});
  if (const auto unheard = templates_.drift().unheard(); unheard != 0)
    out.push_back({Level::warning, subject,
                   fmt::format("templates make objects of more than {} kinds: those of {} more are "
                               "not put back when somebody changes them",
                               templates::k_most_kinds, unheard),
                   "make fewer kinds by templates that are kept in sync"});
  if (failed.empty()) {
    const auto counts = writes_.templates().table().counts();
    out.push_back(
        {Level::ok, subject,
         fmt::format("{} templates, {} instances deployed, {} in hand",
                     writes_.templates().table().templates(), counts.deployed, counts.pending),
         ""});
  }
}

void AccountViews::measure_templates(MetricText& out) const {
  using Type = MetricText::Type;
  const auto& keeper = writes_.templates();
  const auto counts = keeper.table().counts();
  out.family("zood_space_template_instances", Type::gauge,
             "TemplateInstances of accounts and users, by what has become of them");
  out.sample(static_cast<double>(counts.deployed), {{"status", "Deployed"}});
  out.sample(static_cast<double>(counts.failed), {{"status", "Failed"}});
  out.sample(static_cast<double>(counts.pending), {{"status", "Pending"}});
  const auto& tally = keeper.tally();
  out.family("zood_space_template_deployments_total", Type::counter,
             "Attempts to deploy a TemplateInstance, by how they ended");
  out.sample(static_cast<double>(tally.deployed), {{"result", "deployed"}});
  out.sample(static_cast<double>(tally.failed), {{"result", "failed"}});
  out.family("zood_space_template_drifts_total", Type::counter,
             "Changes by others of objects that a template keeps");
  out.sample(static_cast<double>(tally.repaired));
  out.family("zood_space_template_kinds", Type::gauge,
             "Kinds of objects that are watched because a template keeps some");
  out.sample(static_cast<double>(templates_.drift().kinds()));
}

} // namespace zoo::app
