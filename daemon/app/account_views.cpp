// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/account_views.hpp"

#include "common/kube/age.hpp"
#include "daemon/accounts/bindings.hpp"
#include "daemon/accounts/kinds.hpp"
#include "daemon/accounts/known_rights.hpp"
#include "daemon/accounts/quota_answers.hpp"
#include "daemon/accounts/quota_owners.hpp"
#include "daemon/accounts/write_backings.hpp"
#include "daemon/translate/discovery_json.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace zoo::app {

namespace {

accounts::WriteParts with_views(accounts::WriteParts parts, accounts::Views& views) {
  parts.state = [&views] { return views.state(); };
  parts.wait = [&views](const auto& holds, auto most) { return views.wait(holds, most); };
  parts.now = kube::unix_now;
  return parts;
}

Result<nlohmann::json> no_quota(const std::string& owner) {
  if (const auto id = accounts::tenant_of_owner(owner); !id.empty())
    return fail(Code::not_found,
                "tenant \"{}\" has no quota over its namespaces: `zooctl quota set tenant/{} "
                "pods=10` gives it one",
                id, id);
  return fail(Code::not_found,
              "account \"{}\" has no quota: `zooctl quota set {} pods=10` makes one", owner, owner);
}

void measure_quotas(MetricText& out, const accounts::QuotaBroker::Counts& counts,
                    const accounts::QuotaKeeper::Counts& writes) {
  using Type = MetricText::Type;
  const auto number = [](auto value) { return static_cast<double>(value); };
  out.family("zood_quota_decisions_total", Type::counter,
             "Creates that the broker of quotas was asked about, by what it said");
  out.sample(number(counts.allowed), {{"result", "allowed"}});
  out.sample(number(counts.moved), {{"result", "moved"}});
  out.sample(number(counts.late), {{"result", "late"}});
  out.sample(number(counts.denied), {{"result", "denied"}});
  out.family("zood_quota_wait_seconds_total", Type::counter,
             "Time that creates have waited for room that was moved to them");
  out.sample(number(counts.waited_us) / 1e6);
  out.family("zood_quota_waiting", Type::gauge, "Creates that wait for room");
  out.sample(number(counts.waiting));
  out.family("zood_quota_reservations", Type::gauge, "Creates that were let in and not seen since");
  out.sample(number(counts.reserved));
  out.family("zood_quota_objects", Type::gauge, "Objects that quotas count");
  out.sample(number(counts.objects));
  out.family("zood_quota_moves_total", Type::counter, "Slices that were given other limits");
  out.sample(number(writes.moves));
  out.family("zood_quota_repairs_total", Type::counter,
             "Slices of which upstream's count was put right");
  out.sample(number(writes.repairs));
}

/// What of the metadata of an object a set goes by.
std::string selected_by(const std::string& object) {
  const auto tree = translate::JsonTree::parse(object);
  if (!tree) return {};
  const auto metadata = tree->root()["metadata"];
  return std::string(metadata["labels"].raw()) + std::string(metadata["generation"].raw());
}

/// Has an account come or gone or other labels, or a quota another specification? What zood writes
/// into their status is nothing new.
bool concerns_sets(const accounts::State& before, const accounts::State& now,
                   const accounts::Touched& touched) {
  const auto differs = [](const auto& was, const auto& is) {
    return !was || !is || selected_by(was->object) != selected_by(is->object);
  };
  const auto any = [&](const auto& names, const auto& was, const auto& is) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return differs(was.find(name), is.find(name));
    });
  };
  return any(touched.accounts, before.accounts, now.accounts) ||
         any(touched.quotas, before.quotas, now.quotas);
}

} // namespace

AccountViews::AccountViews(upstream::Upstream& upstream, net::Loop& loop, net::Loop& quota_loop,
                           std::size_t most_rbac_bytes,
                           std::vector<accounts::QuotaServers::Address> servers,
                           accounts::WriteParts parts)
    : rights_(accounts::rights_of(views_)),
      broker_({quota_loop, [this](const std::string& owner) { writes_.quotas().hurry(owner); },
               [this](const std::string& owner) { writes_.quotas().doubt(owner); }}),
      objects_(upstream, quota_loop, broker_),
      servers_(upstream, quota_loop, broker_, std::move(servers)),
      writes_(with_views(std::move(parts), views_)),
      follower_(upstream, loop, most_rbac_bytes,
                [this](const accounts::StatePtr& before, const accounts::StatePtr& now,
                       const accounts::Touched& touched) {
                  views_.published(before, now, touched);
                  writes_.controller().touched(before, now, touched);
                  touch_quotas(*before, *now, touched);
                  touch_templates(*before, *now, touched);
                  touch_tenants(*now, touched);
                }),
      quotas_(
          upstream, quota_loop, writes_.quota_table(),
          [this](std::string_view account) { writes_.quotas().touched(account); }, &broker_,
          [this](bool hears) { servers_.usual(hears); }),
      templates_(upstream, loop, writes_.templates()),
      sets_(writes_.parts(), writes_.connections(), upstream, quota_loop) {
  using Names = accounts::QuotaKeeper::Names;
  writes_.quotas().set_broker(
      {&broker_,
       [this](const Names& names) {
         Names kinds;
         for (const auto& name : names)
           if (auto kind = quota::kind_of_name(name); !kind.empty()) kinds.insert(std::move(kind));
         change_scope([&](accounts::QuotaHookScope& scope) { scope.kinds = std::move(kinds); });
         objects_.follow(names);
       },
       [this](std::string_view space, std::string_view key) {
         return objects_.path_of(space, key);
       },
       [this](const Names& accounts, const Names& tenants) {
         change_scope([&](accounts::QuotaHookScope& scope) {
           scope.accounts = accounts;
           scope.tenants = tenants;
         });
       }});
  writes_.templates().on_state([this](std::string_view name_space) {
    const auto space = follower_.state()->tenant_spaces.find(name_space);
    if (space && tells_tenant_) tells_tenant_(space->tenant);
  });
}

void AccountViews::touch_owners_of(const accounts::State& now, std::string_view id) {
  auto& quotas = writes_.quotas();
  quotas.touched(accounts::tenant_owner(id));
  const auto* tenants = writes_.parts().tenants;
  if (const auto terms = tenants == nullptr ? std::nullopt : tenants->terms(id))
    quotas.touched(terms->account);
  const auto known = now.spaces_of_tenant.find(id);
  if (!known) return;
  for (const auto& space : known->names)
    for (const auto& owner : writes_.quota_table().owners_in(space))
      quotas.touched(owner);
}

void AccountViews::tenant_changed(std::string_view id) {
  const auto state = follower_.state();
  touch_owners_of(*state, id);
  if (const auto known = state->spaces_of_tenant.find(id))
    for (const auto& space : known->names)
      writes_.templates().space_changed(space);
}

/// Namespaces of tenants have come or gone, or an account has another list of templates.
void AccountViews::touch_tenants(const accounts::State& now, const accounts::Touched& touched) {
  const auto* tenants = writes_.parts().tenants;
  if (tenants == nullptr) return;
  if (touched.everything) {
    for (const auto& id : tenants->concerned()) {
      touch_owners_of(now, id);
      if (tells_tenant_) tells_tenant_(id);
    }
    return;
  }
  for (const auto& id : touched.tenants)
    if (writes_.rooms().concerns(id)) touch_owners_of(now, id);
  for (const auto& account : touched.accounts)
    for (const auto& id : tenants->of_account(account)) {
      touch_owners_of(now, id);
      if (tells_tenant_) tells_tenant_(id);
    }
}

void AccountViews::lead(bool leads) {
  if (leads)
    broker_.with([](quota::Judge& judge) { judge.begin(std::chrono::steady_clock::now()); });
  writes_.quotas().lead(leads);
  writes_.controller().lead(leads);
  writes_.templates().lead(leads);
  sets_.lead(leads);
  const auto* tenants = writes_.parts().tenants;
  if (!leads || tenants == nullptr) return;
  for (const auto& id : tenants->concerned())
    touch_owners_of(*follower_.state(), id);
}

void AccountViews::change_scope(const std::function<void(accounts::QuotaHookScope&)>& how) {
  const std::scoped_lock lock(scope_mutex_);
  how(scope_);
  if (hears_scope_) hears_scope_(scope_);
}

void AccountViews::on_quota_scope(std::function<void(const accounts::QuotaHookScope&)> hears) {
  const std::scoped_lock lock(scope_mutex_);
  hears_scope_ = std::move(hears);
  if (hears_scope_) hears_scope_(scope_);
}

/// Spaces that have come, gone, or changed their owner are to be shared out to again.
void AccountViews::touch_quotas(const accounts::State& before, const accounts::State& now,
                                const accounts::Touched& touched) {
  if (touched.everything || concerns_sets(before, now, touched)) sets_.touched();
  if (touched.everything) {
    for (const auto& account : writes_.quota_table().owners())
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
  broker_.start();
  servers_.start();
  quotas_.start();
  templates_.start();
  writes_.controller().start();
  writes_.quotas().start();
  writes_.templates().start();
  sets_.start();
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
  add_role_findings(*state, out);
  add_template_findings(out);
  if (well)
    out.push_back({Level::ok, subject, "upstream's roles and bindings are known, all of them", ""});
  add_quota_findings(out);
  return out;
}

/// Accounts whose members are bound to what is not there.
void AccountViews::add_role_findings(const accounts::State& state,
                                     std::vector<tenants::Finding>& out) const {
  constexpr std::size_t k_most_told = 5;
  if (!state.rights || state.trouble) return;
  std::vector<std::string> some;
  std::size_t count = 0;
  state.accounts.visit("", [&](const accounts::AccountPtr& account) {
    const auto missing = accounts::missing_roles(
        *state.rights, accounts::members_of(account, writes_.parts().default_cluster_role));
    if (missing.empty()) return true;
    if (++count <= k_most_told)
      some.push_back(fmt::format("{} ({})", account->name, fmt::join(missing, ", ")));
    return true;
  });
  if (count == 0) return;
  out.push_back({tenants::Finding::Level::warning, "accounts",
                 fmt::format("{} {} members a ClusterRole that upstream does not have, which gives "
                             "them nothing: {}{}",
                             count, count == 1 ? "account gives its" : "accounts give their",
                             fmt::join(some, ", "), count > k_most_told ? ", ..." : ""),
                 "make the ClusterRole, or name another one in spec.space of the account"});
}

/// Where Kubernetes' own quota may be passed while zood is away.
void AccountViews::add_quota_findings(std::vector<tenants::Finding>& out) const {
  using Level = tenants::Finding::Level;
  const std::string subject = "quotas";
  const auto tell = [&](const std::vector<std::string>& names, std::string_view what) {
    if (names.empty()) return;
    const auto shown =
        std::vector(names.begin(), names.begin() + std::min<std::ptrdiff_t>(std::ssize(names), 5));
    out.push_back({Level::warning, subject,
                   fmt::format("{}: {}{}; while zood is away, more may be created there at once "
                               "than the limit allows (kubernetes#141904)",
                               what, fmt::join(shown, ", "), names.size() > 5 ? ", ..." : ""),
                   "put the limits of an account into quotas without scopes, and leave no other "
                   "ResourceQuota in its spaces"});
  };
  std::vector<std::string> scoped, beside;
  broker_.read([&](const quota::Judge& judge) {
    for (const auto& account : writes_.quota_table().owners())
      if (const auto* owner = judge.owner(account); owner != nullptr && owner->limits.size() > 1)
        scoped.push_back(account);
    for (const auto& other : writes_.quota_table().others())
      if (!judge.owner_of(other.substr(0, other.find('/'))).empty()) beside.push_back(other);
  });
  tell(scoped, "accounts whose quotas have scopes need several slices in each space");
  tell(beside, "ResourceQuotas of others in spaces with a quota");
  if (const auto missing = objects_.missing(); !missing.empty())
    out.push_back({Level::warning, subject,
                   fmt::format("quotas count {}, of which not all is known now: until then what "
                               "slices say is believed, too",
                               fmt::join(missing, ", ")),
                   "does the upstream serve them? zood tries again by itself"});
}

nlohmann::json AccountViews::use_of(const std::string& owner) const {
  return broker_.read([&](const quota::Judge& judge) { return accounts::quota_use(judge, owner); });
}

Result<nlohmann::json> AccountViews::quotas(const std::string& owner) {
  auto out = nlohmann::json::array();
  const auto accounts =
      owner.empty() ? writes_.quota_table().owners() : std::set<std::string, std::less<>>{owner};
  for (const auto& name : accounts) {
    auto one =
        broker_.read([&](const quota::Judge& judge) { return accounts::quota_state(judge, name); });
    if (!one.is_null()) out.push_back(std::move(one));
  }
  if (out.empty() && !owner.empty()) return no_quota(owner);
  return out;
}

Result<nlohmann::json> AccountViews::explain(const std::string& owner, const std::string& space,
                                             const nlohmann::json& objects) {
  ZOO_TRY(const auto wanted, accounts::wanted_of(objects));
  auto out = broker_.read([&](const quota::Judge& judge) {
    return accounts::quota_explanation(judge, owner.empty() ? judge.owner_of(space) : owner,
                                       wanted);
  });
  if (out.is_null() && owner.empty())
    return fail(Code::not_found, "nobody with a quota owns namespace \"{}\"", space);
  if (out.is_null()) return no_quota(owner);
  return out;
}

Result<void> AccountViews::recount(const std::string& owner) {
  const bool has =
      broker_.read([&](const quota::Judge& judge) { return judge.owner(owner) != nullptr; });
  if (!has) {
    auto none = no_quota(owner);
    return fail(std::move(none).error());
  }
  writes_.quotas().recount(owner);
  return {};
}

std::vector<reconcile::Counts> AccountViews::controllers() {
  return {writes_.controller().counts(), writes_.quotas().looks(), writes_.templates().counts(),
          sets_.counts()};
}

void AccountViews::measure(MetricText& out) const {
  measure_quotas(out, broker_.counts(), writes_.quotas().counts());
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
  accounts::SpaceCells cells{
      [this](const std::string& space) { return follower_.state()->templates_text(space); },
      [this](const std::string& space) { return follower_.state()->quota_text(space); }};
  return {accounts::space_kind(std::make_shared<accounts::SpaceBacking>(views_, writes_),
                               std::move(cells)),
          accounts::account_kind(std::make_shared<accounts::AccountBacking>(views_, writes_)),
          accounts::quota_kind(std::make_shared<accounts::ViewBacking>(
              views_, accounts::ViewOf::quotas, "accountquotas")),
          accounts::instance_kind(std::make_shared<accounts::InstanceBacking>(views_, writes_)),
          accounts::namespace_kind(std::make_shared<accounts::NamespaceBacking>(views_, writes_))};
}

} // namespace zoo::app
