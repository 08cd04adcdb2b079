// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/accounts.hpp"

#include "daemon/accounts/quota_gate.hpp"
#include "daemon/accounts/quota_owners.hpp"
#include "daemon/app/account_kinds.hpp"
#include "daemon/app/address.hpp"
#include "daemon/app/door_certificates.hpp"
#include "daemon/app/settings.hpp"
#include "daemon/app/tenant_furniture.hpp"
#include "daemon/tenants/directory.hpp"
#include "daemon/tenants/pki.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"
#include "daemon/upstream/upstream.hpp"

#include <nlohmann/json.hpp>

#include <iterator>
#include <string_view>
#include <utility>

namespace zoo::app {

namespace {

/// That wait for the upstream while namespaces of tenants are furnished.
constexpr std::size_t k_furnish_threads = 8;

} // namespace

Result<void> Accounts::install(const upstream::Credential& credential,
                               const config::Values& values) {
  return install_account_kinds(credential, values);
}

Accounts::~Accounts() = default;

Result<void> Accounts::open() {
  if (!parts_.values.boolean("accounts.enabled")) return {};
  ZOO_TRY_VOID(follow());
  ZOO_TRY_VOID(open_door());
  ZOO_TRY_VOID(open_broker());
  return open_aggregated();
}

Result<void> Accounts::follow() {
  accounts::WriteParts writes;
  writes.connect = [this] { return parts_.credential.api(); };
  writes.connect_once = [this] { return parts_.credential.api(false); };
  writes.connect_as = [this] { return parts_.credential.acting_api(); };
  const auto& values = parts_.values;
  charts_ = std::make_unique<templates::Charts>(templates::ChartSettings{
      values.path("templates.helm"), values.list("templates.repositories"),
      values.is_set("templates.repository_ca") ? values.path("templates.repository_ca")
                                               : std::filesystem::path(),
      values.path("dir") / "charts"});
  writes.render = [this](upstream::ControlApi& api, const templates::ChartWish& wish,
                         std::chrono::milliseconds wait) {
    return charts_->render(api, wish, wait);
  };
  writes.tenant_of = [this](std::string_view name) {
    const auto id = name.substr(0, name.find('-'));
    return id.size() < name.size() && parts_.tenants()->find(id) ? std::string(id) : std::string();
  };
  writes.default_cluster_role = values.string("accounts.default_cluster_role");
  writes.single_account_default = values.boolean("accounts.single_account_default");
  std::vector<accounts::QuotaServers::Address> servers;
  for (const auto& text : values.list("broker.servers")) {
    ZOO_TRY(const auto address, parse_address(text));
    servers.push_back({address.host, address.port});
  }
  terms_ = std::make_unique<TenantTermsSource>(parts_.tenants,
                                               [this] { return parts_.upstream.shared_names(); });
  writes.tenants = terms_.get();
  views_ = std::make_unique<AccountViews>(parts_.upstream, *parts_.rights_loop, *parts_.quota_loop,
                                          values.size("accounts.rbac_limit"), std::move(servers),
                                          std::move(writes));
  views_->lead(leads_);
  views_->on_tenant(parts_.touch_tenant);
  furnishing_ = std::make_unique<resources::Workers>("furnish", k_furnish_threads);
  views_->start();
  return {};
}

Result<void> Accounts::open_door() {
  const auto& values = parts_.values;
  if (values.string("accounts.listen").empty()) return {};
  const auto identity = [this](const std::string& client_ca) {
    return parts_.certificates.identity_for(client_ca);
  };
  const auto known_space = [this](std::string_view name) { return views_->known_space(name); };
  ZOO_TRY(door_, AccountDoor::open(
                     {values.string("accounts.listen"), parts_.credential, parts_.upstream,
                      parts_.loops, parts_.gateway, gateway_limits(values), client_limits(values),
                      default_terms(values).flow, parts_.share_of, identity, parts_.pki.ca(),
                      views_->kinds(), views_->rights(), known_space}));
  return {};
}

Result<void> Accounts::open_aggregated() {
  const auto& values = parts_.values;
  if (values.string("accounts.aggregated.listen").empty()) return {};
  ZOO_TRY(aggregated_,
          Aggregated::open({values, parts_.credential, parts_.upstream, *parts_.loops.front(),
                            parts_.pki, parts_.audit, parts_.tenants, listener_limits(values),
                            views_->kinds(), views_->rights()}));
  return {};
}

Result<void> Accounts::open_broker() {
  ZOO_TRY(broker_,
          BrokerDoor::open({parts_.values, parts_.credential, parts_.upstream, *parts_.quota_loop,
                            parts_.pki, listener_limits(parts_.values), views_->broker()}));
  if (broker_) broker_->lead(leads_);
  if (broker_)
    views_->on_quota_scope(
        [this](const accounts::QuotaHookScope& scope) { broker_->set_scope(scope); });
  return {};
}

void Accounts::lead(bool leads) {
  leads_ = leads;
  if (views_) views_->lead(leads);
  if (broker_) broker_->lead(leads);
}

std::shared_ptr<const access::QuotaGate> Accounts::quota_gate() {
  if (!views_) return nullptr;
  return accounts::make_quota_gate(views_->broker(), views_->rights(),
                                   [this] { return !leads_ || (broker_ && broker_->asked()); });
}

std::shared_ptr<const access::Furnisher> Accounts::furnisher() {
  return views_ ? make_furnisher(views_->writes(), *furnishing_) : nullptr;
}

Result<void> Accounts::furnish(upstream::ControlApi& api, const std::string& id,
                               const std::string& space) {
  return views_ ? views_->writes().rooms().furnish(api, id, space) : Result<void>();
}

Result<void> Accounts::keep_furnished(upstream::ControlApi& api, const std::string& id,
                                      const std::string& space) {
  return views_ ? views_->writes().rooms().keep(api, id, space) : Result<void>();
}

nlohmann::json Accounts::use_of_tenant(std::string_view id) const {
  return views_ ? views_->use_of(accounts::tenant_owner(id)) : nlohmann::json();
}

std::optional<api::Condition> Accounts::furnished(const api::Tenant& tenant) const {
  return furnished_condition(tenant, views_ ? &views_->writes() : nullptr);
}

void Accounts::tenant_changed(std::string_view id) {
  if (views_) views_->tenant_changed(id);
}

std::vector<tenants::Finding> Accounts::findings() const {
  auto out = account_findings(parts_.credential, parts_.values);
  const auto add = [&out](std::vector<tenants::Finding> more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  if (views_) add(views_->findings());
  if (broker_) add(broker_->findings());
  add(aggregated_ ? aggregated_->findings()
                  : unserved_door(parts_.credential, parts_.values.boolean("accounts.enabled")));
  return out;
}

void Accounts::measure(MetricText& out) const {
  if (views_) views_->measure(out);
}

std::vector<reconcile::Counts> Accounts::controllers() const {
  return views_ ? views_->controllers() : std::vector<reconcile::Counts>();
}

Result<std::string> Accounts::door_url() const {
  if (!door_) return std::string();
  const auto& said = parts_.values.string("accounts.advertise");
  ZOO_TRY(const auto real, parse_address(door_->listener().address()));
  if (said.empty()) return "https://" + real.text();
  ZOO_TRY(auto address, parse_address(said));
  if (address.port == 0) address.port = real.port;
  return "https://" + address.text();
}

Result<nlohmann::json> Accounts::uninstall(bool force, bool dry_run) const {
  return uninstall_account_kinds(parts_.credential, parts_.values, force, dry_run);
}

void Accounts::reload(const config::Values& loaded) {
  if (!door_) return;
  door_->listener().set_limits(client_limits(loaded));
  door_->set_limits(gateway_limits(loaded), default_terms(loaded).flow);
  door_->renew();
}

void Accounts::renew() {
  if (door_) door_->renew();
  if (aggregated_) aggregated_->renew();
  if (broker_) broker_->renew();
}

void Accounts::withdraw() {
  if (broker_) broker_->withdraw();
  if (aggregated_) aggregated_->withdraw();
}

std::vector<net::Listener*> Accounts::listeners() {
  std::vector<net::Listener*> out;
  if (door_) out.push_back(&door_->listener());
  if (aggregated_) out.push_back(&aggregated_->listener());
  if (broker_ && broker_->listener() != nullptr) out.push_back(broker_->listener());
  return out;
}

void Accounts::close() {
  if (door_) door_->close();
  if (aggregated_) aggregated_->close();
  if (furnishing_) furnishing_->stop();
  if (views_) views_->on_quota_scope(nullptr);
  if (broker_) broker_->close();
}

} // namespace zoo::app
