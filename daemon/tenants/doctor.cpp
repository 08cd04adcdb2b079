// SPDX-License-Identifier: Apache-2.0
#include "common/api/tenant.hpp"
#include "common/kube/client.hpp"
#include "daemon/tenants/footprint.hpp"
#include "daemon/tenants/kept.hpp"
#include "daemon/tenants/manifests.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/tenants/service_impl.hpp"
#include "daemon/upstream/bootstrap.hpp"
#include "daemon/upstream/control_api.hpp"
#include "daemon/upstream/credential.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <iterator>
#include <map>
#include <thread>

namespace zoo::tenants {
namespace {

using Level = Finding::Level;

constexpr std::size_t k_most = 50; ///< findings of one sort; the rest are counted

void examine_credential(const upstream::Credential& credential, std::vector<Finding>& out) {
  const auto now = std::chrono::system_clock::now();
  const auto expires = credential.expires();
  if (const auto trouble = credential.trouble(); !trouble.empty()) {
    out.push_back({expires - now < std::chrono::hours(24) ? Level::problem : Level::warning,
                   "credential upstream", "it cannot be renewed: " + trouble,
                   "give --upstream an administrator's kubeconfig and restart zood"});
  } else if (expires == std::chrono::system_clock::time_point{}) {
    out.push_back({Level::warning, "credential upstream",
                   "it is the kubeconfig's own token, which zood cannot renew",
                   "give ServiceAccount zoo-system/zood the right to create its token"});
  } else {
    out.push_back({Level::ok, "credential upstream",
                   "valid until " + time_text(expires) + ", renewed at half of its life", ""});
  }
}

void examine_lists(upstream::ControlApi& api, std::vector<Finding>& out) {
  const auto works = takes_positions(api);
  if (!works) {
    out.push_back({Level::warning, "lists", works.error().text(), "try again"});
  } else if (*works) {
    out.push_back({Level::ok, "lists", "they begin at a tenant's first key", ""});
  } else {
    out.push_back({Level::warning, "lists",
                   "the upstream does not begin them at a tenant's first key: each namespace is "
                   "asked, and other kinds are read whole",
                   "expect tenant-wide lists to cost more than the tenant owns"});
  }
}

/// The fence of each tenant's namespace: its user may do anything there, because RoleBinding
/// zoo-tenant says so. `spaces`: their IDs by name.
void examine_bindings(upstream::ControlApi& api, std::map<std::string, std::string> spaces,
                      std::vector<Finding>& out) {
  const auto all = spaces.size();
  const auto listed = range_objects(
      api, "/apis/rbac.authorization.k8s.io/v1/rolebindings", {}, 500, 0, false,
      {{"fieldSelector", fmt::format("metadata.name={}", upstream::k_tenant_binding)}},
      [&](const nlohmann::json& item) {
        const auto space = spaces.find(found_of(item).name_space);
        if (space != spaces.end() && binding_is_ours(item, space->second)) spaces.erase(space);
      });
  if (!listed) {
    out.push_back({Level::warning, "role bindings", listed.error().text(), "try again"});
    return;
  }
  std::size_t missing = 0;
  for (const auto& [space, id] : spaces) {
    if (missing >= k_most) break;
    // A namespace may be a moment old, or about to go.
    const auto binding = api.get(binding_path(space));
    if (binding && binding_is_ours(*binding, id)) continue;
    const auto now = api.get(kube::path({"api", "v1", "namespaces", space}));
    for (const auto* each : {&binding, &now}) {
      if (*each || each->error().code() == Code::not_found) continue;
      out.push_back({Level::warning, "role bindings", each->error().text(), "try again"});
      return;
    }
    if (!now || found_of(*now).terminating) continue;
    ++missing;
    out.push_back(
        {Level::problem,
         fmt::format("role binding {} in namespace {}", upstream::k_tenant_binding, space),
         fmt::format("it is {}: the upstream refuses what tenant {} asks there",
                     binding ? "another one" : "missing", id),
         "wait: zood restores it within seconds, or minutes while it does not hear of changes "
         "upstream"});
  }
  if (missing == 0) {
    out.push_back(
        {Level::ok, "role bindings", fmt::format("{} namespaces of tenants have theirs", all), ""});
  }
}

/// What else is kept in each namespace of a tenant, its network if that is kept apart.
void examine_kept(upstream::ControlApi& api, const std::map<std::string, std::string>& spaces,
                  const std::function<KeptTerms(const std::string&)>& terms_of,
                  std::vector<Finding>& out) {
  const auto faults = kept_faults(api, spaces, terms_of);
  if (!faults) {
    out.push_back({Level::warning, "tenants' namespaces", faults.error().text(), "try again"});
    return;
  }
  for (const auto& fault : *faults) {
    out.push_back(
        {Level::problem, fault.title, fmt::format("it is {} (tenant {})", fault.what, fault.id),
         fmt::format("wait: zood restores it within seconds, or minutes while it does not "
                     "hear of changes upstream; where it cannot, condition Synced of the "
                     "tenant says why: zooctl tenant describe {}",
                     fault.id)});
  }
  if (faults->empty()) {
    out.push_back({Level::ok, "tenants' namespaces",
                   fmt::format("{} have what zood keeps there", spaces.size()), ""});
  }
}

/// Upstream's controllers list every kind, so that one which cannot be listed keeps every namespace
/// from being deleted.
void examine_definitions(upstream::ControlApi& api,
                         const std::map<std::string, api::Tenant>& tenants,
                         std::vector<Finding>& out) {
  const auto kinds = discover(api, [&](std::string_view group) {
    return tenants.contains(std::string(id_of_name(group)));
  });
  if (!kinds) {
    out.push_back({Level::warning, "tenants' kinds", kinds.error().text(), "try again"});
    return;
  }
  std::size_t all = 0, failing = 0;
  for (const auto& kind : *kinds) {
    if (!tenants.contains(std::string(id_of_name(kind.group))) || !kind.removable) continue;
    ++all;
    auto listed = list_nothing(api, kind);
    for (int tries = 0; !listed && tries < 3 && failing < k_most;
         ++tries) { // what was defined just now takes a moment
      if (listed.error().code() == Code::not_found) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      listed = list_nothing(api, kind);
    }
    if (listed || listed.error().code() == Code::not_found || ++failing > k_most) continue;
    out.push_back({Level::problem, "definition " + kind.title(),
                   fmt::format("the upstream cannot list its objects, so that no namespace of the "
                               "platform is deleted: {}",
                               listed.error().message()),
                   fmt::format("as an administrator of the upstream give it the versions that its "
                               "objects are stored in and schemas that take them, or zooctl tenant "
                               "delete {}, which does so",
                               id_of_name(kind.group))});
  }
  if (failing == 0) {
    out.push_back({Level::ok, "tenants' kinds",
                   fmt::format("the upstream lists the {} that tenants have defined", all), ""});
  }
}

} // namespace

/// What has just begun is waited for.
bool TenantServiceImpl::hears_changes() const {
  if (!parts_.hears) return true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!parts_.hears()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

bool TenantServiceImpl::examine_upstream(upstream::ControlApi& api,
                                         std::vector<Finding>& out) const {
  const auto who = upstream::who_am_i(api);
  if (!who) {
    out.push_back({Level::problem, "upstream", who.error().text(),
                   "check that the upstream runs and that zood reaches it"});
    return false;
  }
  out.push_back({who->in_group(upstream::k_masters_group) ? Level::problem : Level::ok, "upstream",
                 "zood is " + who->name + " there", ""});
  std::size_t equal = 0;
  for (const auto& state : upstream::examine(api)) {
    if (state.state == upstream::ObjectState::State::equal) {
      ++equal;
      continue;
    }
    const auto need = state.manifest->need;
    out.push_back({need == upstream::Need::fence ? Level::problem : Level::warning,
                   state.manifest->title(), state.message,
                   "zood --print-upstream-rbac | kubectl apply --server-side -f - (as an "
                   "administrator of the upstream), or restart zood"});
  }
  out.push_back(
      {Level::ok, "objects upstream",
       fmt::format("{} of {} are as zood needs them", equal, upstream::upstream_manifests().size()),
       ""});
  examine_lists(api, out);
  if (!hears_changes())
    out.push_back({Level::warning, "changes upstream",
                   "zood does not hear of all: what is taken from a tenant's namespaces comes back "
                   "within minutes, not seconds",
                   "its log tells which watch is refused or says nothing"});
  if (auto good = upstream::refuse_trusted_ca(api, parts_.pki.ca(), parts_.pki.ca_key()); !good) {
    out.push_back({Level::problem, "tenants' CA", good.error().message(),
                   "use a CA that the upstream does not trust for clients"});
  }
  return true;
}

void TenantServiceImpl::examine_tenants(upstream::ControlApi& api,
                                        std::vector<Finding>& out) const {
  std::map<std::string, api::Tenant> tenants;
  std::string after;
  for (;;) {
    const auto page = parts_.store.list(k_tenant_kind, {}, after, 500);
    if (!page) {
      out.push_back({Level::problem, "store", page.error().text(), "check the disk, or etcd"});
      return;
    }
    for (const auto& record : page->records) {
      auto tenant = tenant_of(record);
      if (tenant) {
        tenants.emplace(record.key, *std::move(tenant));
      } else {
        out.push_back({Level::problem, "tenant " + record.key, tenant.error().text(),
                       "restore zood's store from a backup"});
      }
    }
    if (!page->more || page->records.empty()) break;
    after = page->records.back().key;
  }
  std::size_t ready = 0, told = 0, ending = 0;
  for (const auto& [id, tenant] : tenants) {
    if (const auto* condition = tenant.condition("CertificateExpiring");
        condition != nullptr && condition->status == "True" && ++ending <= k_most) {
      out.push_back(
          {Level::warning, "tenant " + id, condition->message, "zooctl tenant certificates " + id});
    }
    const bool good = tenant.phase == api::Phase::ready || tenant.phase == api::Phase::suspended;
    const auto* synced = tenant.condition("Synced");
    if (good && (synced == nullptr || synced->status == "True")) {
      ++ready;
      continue;
    }
    if (++told > k_most) continue;
    const auto* condition = tenant.condition(good                                ? "Synced"
                                             : tenant.deletion_timestamp.empty() ? "Ready"
                                                                                 : "Deleting");
    out.push_back({Level::warning, "tenant " + id,
                   fmt::format("{}: {}", api::phase_name(tenant.phase),
                               condition != nullptr ? condition->message : tenant.waiting_for),
                   "zooctl tenant describe " + id});
  }
  out.push_back(
      {Level::ok, "tenants", fmt::format("{} of {} in order", ready, tenants.size()), ""});
  examine_definitions(api, tenants, out);
  std::size_t strays = 0;
  std::map<std::string, std::string> spaces; // of tenants -> whose
  const auto listed = range_objects(
      api, "/api/v1/namespaces", {}, 500, 0, true, {}, [&](const nlohmann::json& item) {
        const auto found = found_of(item);
        const auto tenant = tenants.find(std::string(id_of_name(found.name)));
        if (tenant == tenants.end()) return;
        if (found.labelled && found.label == tenant->first) {
          const auto phase = tenant->second.phase;
          const bool settled = phase == api::Phase::ready || phase == api::Phase::suspended;
          if (settled && !found.terminating) spaces.emplace(found.name, tenant->first);
          return;
        }
        if (++strays > k_most) return;
        out.push_back({Level::warning, "namespace " + found.name,
                       fmt::format("it is under the prefix of tenant {} without label {}={}: the "
                                   "tenant neither sees nor reaches it",
                                   tenant->first, k_tenant_label, tenant->first),
                       "rename it upstream, or label it if it is the tenant's"});
      });
  if (!listed) {
    out.push_back({Level::warning, "namespaces", listed.error().text(), "try again"});
    return;
  }
  examine_bindings(api, spaces, out);
  examine_kept(
      api, spaces, [&](const std::string& id) { return controller_.kept_terms(tenants.at(id)); },
      out);
}

std::vector<Finding> TenantServiceImpl::doctor() {
  std::vector<Finding> out;
  if (credential_ != nullptr) examine_credential(*credential_, out);
  if (const auto begins = parts_.pki.ca().not_before(); begins > std::chrono::system_clock::now()) {
    out.push_back(
        {Level::problem, "tenants' CA", "it is not valid before " + time_text(begins),
         "is this machine's clock right? It was ahead when the CA was made, or is behind"});
  } else if (due_for_renewal(parts_.pki.ca())) {
    out.push_back({Level::warning, "tenants' CA",
                   "it ends on " + time_text(parts_.pki.ca().not_after()),
                   "plan its replacement: every kubeconfig changes with it"});
  } else {
    out.push_back(
        {Level::ok, "tenants' CA", "valid until " + time_text(parts_.pki.ca().not_after()), ""});
  }
  if (findings_) {
    auto more = findings_();
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  const Lease api(*this);
  if (examine_upstream(*api, out)) examine_tenants(*api, out);
  FindingCounts found{std::chrono::steady_clock::now()};
  for (const auto& each : out) {
    auto& count = each.level == Finding::Level::ok        ? found.ok
                  : each.level == Finding::Level::warning ? found.warnings
                                                          : found.problems;
    ++count;
  }
  const std::scoped_lock lock(found_mutex_);
  found_ = found;
  return out;
}

std::optional<TenantServiceImpl::FindingCounts> TenantServiceImpl::found() const {
  const std::scoped_lock lock(found_mutex_);
  return found_;
}

} // namespace zoo::tenants
