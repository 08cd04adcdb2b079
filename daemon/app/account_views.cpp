// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_views.hpp"

#include "common/kube/age.hpp"
#include "daemon/accounts/kinds.hpp"
#include "daemon/accounts/known_rights.hpp"
#include "daemon/accounts/write_backings.hpp"

#include <fmt/ranges.h>

#include <utility>

namespace zoo::app {

namespace {

accounts::WriteParts with_views(accounts::WriteParts parts, accounts::Views& views) {
  parts.state = [&views] { return views.state(); };
  parts.wait = [&views](const auto& holds, auto most) { return views.wait(holds, most); };
  parts.now = kube::unix_now;
  return parts;
}

} // namespace

AccountViews::AccountViews(upstream::Upstream& upstream, net::Loop& loop,
                           std::size_t most_rbac_bytes, accounts::WriteParts parts)
    : rights_(accounts::rights_of(views_)), writes_(with_views(std::move(parts), views_)),
      follower_(upstream, loop, most_rbac_bytes,
                [this](const accounts::StatePtr& before, const accounts::StatePtr& now,
                       const accounts::Touched& touched) {
                  views_.published(before, now, touched);
                  writes_.controller().touched(before, now, touched);
                  touch_quotas(*before, *now, touched);
                  touch_templates(*before, *now, touched);
                }),
      quotas_(upstream, loop, writes_.quota_table(),
              [this](std::string_view account) { writes_.quotas().touched(account); }),
      templates_(upstream, loop, writes_.templates()) {}

/// Spaces that have come, gone, or changed their owner are to be shared out to again.
void AccountViews::touch_quotas(const accounts::State& before, const accounts::State& now,
                                const accounts::Touched& touched) {
  if (touched.everything) {
    for (const auto& account : writes_.quota_table().accounts())
      writes_.quotas().touched(account);
    return;
  }
  for (const auto& name : touched.spaces) {
    const auto was = before.spaces.find(name), is = now.spaces.find(name);
    if (was && is && was->account == is->account && was->phase == is->phase) continue;
    for (const auto& space : {was, is})
      if (space) writes_.quotas().touched(space->account);
  }
  for (const auto& name : touched.accounts)
    if (!before.accounts.find(name)) writes_.quotas().touched(name);
}

void AccountViews::start() {
  follower_.start();
  quotas_.start();
  templates_.start();
  writes_.controller().start();
  writes_.quotas().start();
  writes_.templates().start();
}

bool AccountViews::known_space(std::string_view name) const {
  const auto state = views_.state();
  return state && (*state)->spaces.find(name) != nullptr;
}

std::vector<tenants::Finding> AccountViews::findings() const {
  using Level = tenants::Finding::Level;
  std::vector<tenants::Finding> out;
  const std::string subject = "accounts rights";
  const auto state = follower_.state();
  if (state->trouble)
    out.push_back({Level::problem, subject, state->trouble->message(),
                   "until then spaces, accounts and lists over all namespaces are answered 503"});
  if (const auto& crowded = state->crowded; crowded.count != 0)
    out.push_back(
        {Level::warning, subject,
         fmt::format("{} {} more roles and bindings than zood keeps of one, and what the "
                     "others of them give is not shown: {}{}",
                     crowded.count, crowded.count == 1 ? "namespace has" : "namespaces have",
                     fmt::join(crowded.some, ", "),
                     crowded.count > crowded.some.size() ? ", ..." : ""),
         "delete some there, or raise accounts.rbac_limit, of which one namespace may "
         "have a sixteenth"});
  if (state->restless != 0)
    out.push_back({Level::warning, subject,
                   fmt::format("in {} {} what every user may changes all the time, and is not "
                               "followed until it rests",
                               state->restless, state->restless == 1 ? "namespace" : "namespaces"),
                   "zood's log names each of them: look who changes RoleBindings to "
                   "system:authenticated there"});
  const bool well = out.empty();
  add_template_findings(out);
  if (well)
    out.push_back({Level::ok, subject, "upstream's roles and bindings are known, all of them", ""});
  return out;
}

void AccountViews::measure(MetricText& out) const {
  using Type = MetricText::Type;
  const auto state = follower_.state();
  out.family("zood_accounts_known", Type::gauge,
             "1: upstream's namespaces, accounts and rights are known; 0: views answer 503");
  out.sample(state->trouble ? 0 : 1);
  out.family("zood_accounts_crowded_namespaces", Type::gauge,
             "Namespaces with more roles and bindings than zood keeps of one");
  out.sample(static_cast<double>(state->crowded.count));
  out.family("zood_accounts_restless_namespaces", Type::gauge,
             "Namespaces in which what every user may changes too often to be followed");
  out.sample(static_cast<double>(state->restless));
  measure_templates(out);
}

std::vector<resources::KindPtr> AccountViews::kinds() {
  return {accounts::space_kind(std::make_shared<accounts::SpaceBacking>(views_, writes_)),
          accounts::account_kind(std::make_shared<accounts::AccountBacking>(views_, writes_)),
          accounts::namespace_kind(std::make_shared<accounts::NamespaceBacking>(views_, writes_))};
}

} // namespace zoo::app
