// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenants/service_impl.hpp"

#include "common/base/log.hpp"
#include "common/crypto/digest.hpp"
#include "common/crypto/issue.hpp"
#include "common/kube/kubeconfig.hpp"
#include "daemon/tenants/identity.hpp"
#include "daemon/tenants/records.hpp"
#include "daemon/upstream/control_api.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace zoo::tenants {
namespace {

constexpr auto k_in_force = std::chrono::seconds(5);
/// As the directory's phases stand.
constexpr std::array<api::Phase, 5> k_phase_names{api::Phase::pending, api::Phase::ready,
                                                  api::Phase::suspended, api::Phase::deleting,
                                                  api::Phase::failed};

class StoreSubscription final : public Subscription {
public:
  explicit StoreSubscription(store::Subscription inner) : inner_(std::move(inner)) {}

private:
  store::Subscription inner_;
};

/// The status is the controller's; a kubeconfig never enters the store by an annotation.
void take_wishes(api::Tenant& into, const api::Tenant& from) {
  into.labels = from.labels;
  into.annotations = from.annotations;
  into.annotations.erase(std::string(api::k_kubeconfig_annotation));
  into.display_name = from.display_name;
  into.account = from.account;
  into.suspended = from.suspended;
  into.audit = from.audit;
  into.webhooks = from.webhooks;
  into.inside = from.inside;
  into.quota_json = from.quota_json;
  into.flow_json = from.flow_json;
  into.guards_json = from.guards_json;
  into.templates_json = from.templates_json;
  into.unknown_metadata_json = from.unknown_metadata_json;
  into.unknown_spec_json = from.unknown_spec_json;
}

Error of_a_cluster(const api::Tenant& tenant) {
  if (!tenant.of_cluster)
    return Error(Code::invalid, "spec.class is set by zood, and cannot be changed");
  return Error(
      Code::forbidden,
      fmt::format("tenant '{}' is what virtual cluster {} has upstream, and is zood's own: "
                  "change the virtual cluster (zooctl cluster)",
                  tenant.id, tenant.display_name));
}

nlohmann::json spec_of(const api::Tenant& tenant) {
  return api::to_json(tenant).value("spec", nlohmann::json::object());
}

} // namespace

TenantServiceImpl::Lease::Lease(TenantServiceImpl& owner) : owner_(owner) {
  {
    const std::lock_guard lock(owner_.clients_mutex_);
    if (!owner_.clients_.empty()) {
      api_ = std::move(owner_.clients_.back());
      owner_.clients_.pop_back();
      return;
    }
  }
  api_ = owner_.parts_.connect();
}

TenantServiceImpl::Lease::~Lease() {
  const std::lock_guard lock(owner_.clients_mutex_);
  owner_.clients_.push_back(std::move(api_));
}

TenantServiceImpl::TenantServiceImpl(ControllerParts parts, Settings settings,
                                     const upstream::Credential* credential)
    : parts_(parts), credential_(credential), controller_(std::move(parts), std::move(settings)) {}

TenantServiceImpl::~TenantServiceImpl() = default;

Result<void> TenantServiceImpl::start() { return controller_.start(); }

Result<api::Tenant> TenantServiceImpl::create(api::Tenant wanted, bool dry_run) {
  ZOO_TRY_VOID(api::validate_id(wanted.id, controller_.policy()->reserved_ids));
  if (wanted.of_cluster)
    return fail(Code::invalid, "spec.class is set by zood: a Tenant of class cluster is made with "
                               "its virtual cluster");
  return make(std::move(wanted), dry_run);
}

Result<api::Tenant> TenantServiceImpl::make(api::Tenant wanted, bool dry_run) {
  if (const auto there = read_tenant(parts_.store, wanted.id)) {
    if (there->deletion_timestamp.empty()) {
      return fail(Code::already_exists, "tenant '{}' exists already", wanted.id);
    }
    return fail(Code::already_exists,
                "tenant '{}' is being deleted (it waits for {}): create it again when it is gone",
                wanted.id, there->waiting_for.empty() ? "its first step" : there->waiting_for);
  } else if (there.error().code() != Code::not_found) {
    return fail(there.error());
  }

  api::Tenant tenant;
  tenant.id = wanted.id;
  take_wishes(tenant, wanted);
  tenant.of_cluster = wanted.of_cluster;
  tenant.uid = crypto::uuid_v4();
  tenant.creation_timestamp = now_text();
  tenant.generation = 1;
  tenant.phase = api::Phase::pending;

  const Lease api(*this);
  auto found = survey_.occupied(*api, tenant.id);
  if (!found) {
    return fail(std::move(found).error().context(
        "while checking that nothing upstream carries the prefix {}-", tenant.id));
  }
  if (found->empty()) {
    auto volume = claimed_volume(*api, tenant.id);
    if (!volume) return fail(std::move(volume).error().context("while looking for volumes"));
    *found = *std::move(volume);
  }
  if (!found->empty()) {
    return fail(Code::conflict,
                "the upstream already has {} under the prefix {}-, which would be the tenant's: "
                "choose another ID, or remove it there",
                *found, tenant.id);
  }
  if (dry_run) return tenant;
  auto written = write_tenant(parts_.store, tenant);
  if (!written) {
    if (written.error().code() == Code::already_exists) {
      return fail(Code::already_exists, "tenant '{}' exists already", tenant.id);
    }
    return written;
  }
  log::info("tenants", "tenant {} is created, uid {}", written->id, written->uid);
  controller_.wake(written->id);
  return written;
}

/// One that a provisioner has stored when the tenant before this one was gone, in words; "": none.
/// Its name does not say so.
Result<std::string> TenantServiceImpl::claimed_volume(upstream::ControlApi& api,
                                                      std::string_view id) {
  if (!parts_.claimed_volumes) return std::string();
  const auto known = parts_.claimed_volumes(std::string(id) + "-");
  if (known && known->empty()) return std::string();
  ZOO_TRY(const auto found, tenant_volumes(api, id, known)); // what is known may have gone
  if (found.empty()) return std::string();
  return fmt::format("persistentvolume {}, which is claimed from a namespace", found.front().name);
}

Result<api::Tenant> TenantServiceImpl::get(std::string_view id) {
  ZOO_TRY(auto tenant, read_tenant(parts_.store, id));
  if (usage_) tenant.usage_json = usage_(tenant);
  return tenant;
}

Result<TenantPage> TenantServiceImpl::list(std::string_view after, std::size_t limit) {
  ZOO_TRY(const auto page, parts_.store.list(k_tenant_kind, {}, after, limit));
  TenantPage out;
  out.revision = page.revision;
  for (const auto& record : page.records) {
    auto tenant = tenant_of(record);
    if (!tenant) { // one bad object never fails a list
      log::error("tenants", "{}", tenant.error().text());
      continue;
    }
    if (tenant->of_cluster) continue;
    if (usage_) tenant->usage_json = usage_(*tenant);
    out.items.push_back(*std::move(tenant));
  }
  if (page.more && !page.records.empty()) out.next = page.records.back().key;
  return out;
}

Result<Census> TenantServiceImpl::census() {
  if (parts_.directory == nullptr) return fail(Code::internal, "there is no directory of tenants");
  Census out;
  parts_.directory->snapshot()->each([&](const TenantEntry& entry) {
    if (entry.of_cluster) return;
    out.add(entry.id, k_phase_names[static_cast<std::size_t>(entry.phase)], entry.expiring);
  });
  return out;
}

Result<api::Tenant> TenantServiceImpl::update(api::Tenant wanted, bool dry_run) {
  std::optional<Error> refused;
  bool changed_spec = false;
  api::Tenant seen;
  auto written = change_tenant(parts_.store, wanted.id, {}, [&](api::Tenant& tenant) -> bool {
    refused.reset();
    if (tenant.of_cluster || wanted.of_cluster) {
      refused.emplace(of_a_cluster(tenant));
      return false;
    }
    if (wanted.resource_version != 0 && wanted.resource_version != tenant.resource_version) {
      refused.emplace(Code::conflict,
                      fmt::format("tenant '{}' was changed in between (resourceVersion {} is now "
                                  "{}): read it again and repeat",
                                  tenant.id, wanted.resource_version, tenant.resource_version));
      return false;
    }
    if (!wanted.uid.empty() && wanted.uid != tenant.uid) {
      refused.emplace(
          Code::conflict,
          fmt::format("tenant '{}' is another one by now: its uid is {}", tenant.id, tenant.uid));
      return false;
    }
    const auto before = api::to_json(tenant);
    const auto spec = spec_of(tenant);
    take_wishes(tenant, wanted);
    changed_spec = spec_of(tenant) != spec;
    if (changed_spec) ++tenant.generation;
    // In force at once, not when the controller has come to it.
    using api::Phase;
    if (tenant.suspended && tenant.phase == Phase::ready) tenant.phase = Phase::suspended;
    if (!tenant.suspended && tenant.phase == Phase::suspended) tenant.phase = Phase::ready;
    seen = tenant;
    return !dry_run && api::to_json(tenant) != before;
  });
  if (refused) return fail(std::move(*refused));
  if (!written) return written;
  if (dry_run) return seen;
  if (changed_spec) {
    controller_.wake(wanted.id);
    ZOO_TRY_VOID(in_force(*written));
  }
  return written;
}

/// Code::forbidden for one of a virtual cluster.
Result<void> TenantServiceImpl::check_administered(std::string_view id) const {
  ZOO_TRY(const auto tenant, read_tenant(parts_.store, id));
  if (tenant.of_cluster) return fail(of_a_cluster(tenant));
  return {};
}

Result<api::Tenant> TenantServiceImpl::remove(std::string_view id, const Preconditions& expected,
                                              bool dry_run) {
  ZOO_TRY_VOID(check_administered(id)); // which it is for good
  return end(id, expected, dry_run);
}

Result<api::Tenant> TenantServiceImpl::end(std::string_view id, const Preconditions& expected,
                                           bool dry_run) {
  api::Tenant seen;
  std::optional<Error> refused;
  auto written = change_tenant(parts_.store, id, {}, [&](api::Tenant& tenant) {
    refused.reset();
    seen = tenant;
    const auto version = std::to_string(tenant.resource_version);
    if (!expected.uid.empty() && expected.uid != tenant.uid)
      refused.emplace(Code::conflict, fmt::format("tenant '{}' is another one by now: its uid is "
                                                  "{}",
                                                  id, tenant.uid));
    else if (!expected.resource_version.empty() && expected.resource_version != version)
      refused.emplace(Code::conflict,
                      fmt::format("Precondition failed: ResourceVersion in precondition: {}, "
                                  "ResourceVersion in object meta: {}",
                                  expected.resource_version, version));
    if (refused || !tenant.deletion_timestamp.empty()) return false;
    tenant.deletion_timestamp = now_text();
    tenant.phase = api::Phase::deleting;
    tenant.waiting_for = "the controller to begin";
    ++tenant.generation;
    tenant.set_condition("Ready", "False", "Deleting", "the tenant is being deleted", now_text());
    tenant.set_condition("Deleting", "True", "Begun", "credentials are refused", now_text());
    seen = tenant;
    return !dry_run;
  });
  if (!written) return written;
  if (refused) return fail(std::move(*refused));
  if (dry_run) return seen;
  log::info("tenants", "tenant {} is to be deleted", id);
  controller_.wake(id);
  ZOO_TRY_VOID(in_force(*written));
  return written;
}

Result<void> TenantServiceImpl::in_force(const api::Tenant& tenant) const {
  if (parts_.directory == nullptr ||
      parts_.directory->wait_for(tenant.id, tenant.resource_version, k_in_force))
    return at_all_doors(tenant);
  return fail(Code::timeout,
              "the change of tenant '{}' is recorded, but not in force after {} seconds: zood is "
              "overloaded; it will be",
              tenant.id, std::chrono::duration_cast<std::chrono::seconds>(k_in_force).count());
}

/// Other zoods that have the same store let tenants in, too.
Result<void> TenantServiceImpl::at_all_doors(const api::Tenant& tenant) const {
  if (parts_.session == nullptr) return {};
  const auto without = parts_.session->settle();
  if (!without) {
    return fail(Code::timeout,
                "the change of tenant '{}' is recorded and in force here; whether it is at other "
                "zoods cannot be found out: {}",
                tenant.id, without.error().message());
  }
  if (without->empty()) return {};
  return fail(Code::timeout,
              "the change of tenant '{}' is recorded, and in force at every zood but {}: that one "
              "hangs or is cut off, and may go by what was before for as long as its "
              "replicas.max_stale says; stop it",
              tenant.id, fmt::join(*without, ", "));
}

Result<std::unique_ptr<Subscription>>
TenantServiceImpl::watch(std::int64_t revision,
                         std::function<void(const TenantChange&)> on_change) {
  if (revision == 0) {
    ZOO_TRY(revision, parts_.store.revision());
  }
  ZOO_TRY(auto inner,
          parts_.store.watch(k_tenant_kind, revision,
                             [on_change = std::move(on_change)](const store::Change& change) {
                               auto tenant = tenant_of(change.record);
                               if (!tenant) {
                                 log::error("tenants", "{}", tenant.error().text());
                                 return;
                               }
                               if (tenant->of_cluster) return;
                               using Type = TenantChange::Type;
                               const auto type = change.type == store::Change::Type::removed
                                                     ? Type::deleted
                                                 : change.created ? Type::added
                                                                  : Type::modified;
                               on_change({type, *std::move(tenant)});
                             }));
  return std::make_unique<StoreSubscription>(std::move(inner));
}

std::string TenantServiceImpl::compose(std::string_view id, std::string_view user,
                                       std::string_view server, std::string certificate_pem,
                                       Secret key_pem) const {
  kube::KubeconfigParts parts;
  parts.cluster = id;
  parts.server = server.empty() ? controller_.settings().server_url() : std::string(server);
  parts.ca_pem = parts_.pki.server_ca_pem();
  parts.user = fmt::format("{}-{}", id, user);
  parts.client_cert_pem = std::move(certificate_pem);
  parts.client_key_pem = std::move(key_pem);
  parts.context = id;
  return kube::write_kubeconfig(parts);
}

Result<std::string> TenantServiceImpl::kubeconfig(std::string_view id,
                                                  const KubeconfigRequest& request) {
  ZOO_TRY(const auto tenant, read_tenant(parts_.store, id));
  if (tenant.of_cluster) return fail(of_a_cluster(tenant));
  if (!tenant.deletion_timestamp.empty()) {
    return fail(Code::conflict, "tenant '{}' is being deleted: it gets no credentials", id);
  }
  ZOO_TRY_VOID(check_subject(request.user, request.groups));
  if (request.ttl.count() < 0 || (request.ttl.count() > 0 && request.ttl.count() < 60)) {
    return fail(Code::invalid, "a certificate lasts at least a minute");
  }
  if (!request.server.empty() && !request.server.starts_with("https://")) {
    return fail(Code::invalid, "the server's URL begins with https://, '{}' does not",
                request.server);
  }
  auto groups = request.groups;
  if (request.administrator) groups.emplace_back(k_tenant_admin_group);
  const auto validity =
      request.ttl.count() == 0 ? controller_.policy()->certificate_validity : request.ttl;
  ZOO_TRY(auto pair, parts_.pki.issue_tenant({tenant.id, tenant.uid, tenant.credentials.epoch},
                                             request.user, groups, validity));
  ZOO_TRY(const auto certificate, crypto::Certificate::from_pem(pair.certificate_pem));
  ZOO_TRY(const auto issued, describe_certificate(certificate, "export"));
  ZOO_TRY_VOID(record_certificate(parts_.store, tenant.id, issued));
  log::info("tenants", "tenant {}: issued certificate {} to {}", id, issued.serial, request.user);
  // Who gets it may use it at another zood at once, which has to know the tenant by then. One that
  // hangs lets nobody in, and hears of the tenant when it lives again.
  if (parts_.session != nullptr) (void)parts_.session->settle();
  return compose(id, request.user, request.server, std::move(pair.certificate_pem),
                 std::move(pair.key_pem));
}

Result<std::string> TenantServiceImpl::stored_kubeconfig(std::string_view id) {
  ZOO_TRY(const auto tenant, read_tenant(parts_.store, id));
  if (!tenant.deletion_timestamp.empty()) return std::string();
  ZOO_TRY(auto kept, load_credential(parts_.store, parts_.sealer, id));
  if (!kept || !good_certificate(*kept, tenant, parts_.pki.ca())) return std::string();
  return crypto::base64_encode(
      compose(id, "admin", {}, std::move(kept->certificate_pem), std::move(kept->key_pem)));
}

Result<std::vector<CertificateStatus>> TenantServiceImpl::certificates(std::string_view id) {
  ZOO_TRY(const auto tenant, read_tenant(parts_.store, id));
  ZOO_TRY(auto all, recorded_certificates(parts_.store, tenant));
  if (const auto kept = load_credential(parts_.store, parts_.sealer, id); kept && *kept) {
    const auto certificate = crypto::Certificate::from_pem((*kept)->certificate_pem);
    auto issued = certificate ? describe_certificate(*certificate, "administrator")
                              : Result<IssuedCertificate>(fail(certificate.error()));
    if (issued && issued->uid == tenant.uid) {
      issued->issued = time_text(certificate->not_before() + crypto::k_backdate);
      all.push_back(*std::move(issued));
    }
  }
  std::vector<CertificateStatus> out;
  for (auto& each : all) {
    const bool revoked = is_revoked(tenant, each);
    out.push_back({std::move(each), revoked});
  }
  return out;
}

Result<api::Tenant> TenantServiceImpl::rotate(std::string_view id, bool revoke_old, bool dry_run) {
  ZOO_TRY(const auto tenant, read_tenant(parts_.store, id));
  if (tenant.of_cluster) return fail(of_a_cluster(tenant));
  if (!tenant.deletion_timestamp.empty()) {
    return fail(Code::conflict, "tenant '{}' is being deleted: it gets no credentials", id);
  }
  if (dry_run) return tenant;
  if (revoke_old) {
    // First the old one: who repeats what was broken off means that one, not the one made
    // meanwhile. What does not come to its end the controller ends.
    if (const auto kept = load_credential(parts_.store, parts_.sealer, id); kept && *kept) {
      if (const auto old = good_certificate(**kept, tenant, parts_.pki.ca()))
        ZOO_TRY_VOID(refuse(id, {{old->serial(), time_text(old->not_after())}}, false));
    }
  }
  auto expiry = controller_.renew_credential(tenant);
  if (!expiry) {
    controller_.wake(id);
    return fail(std::move(expiry).error());
  }
  ZOO_TRY(const auto written,
          change_tenant(parts_.store, id, tenant.uid, [&](api::Tenant& now) -> bool {
            now.certificate_expiry = *expiry;
            return true;
          }));
  log::info("tenants", "tenant {}: its administrator has a new certificate", id);
  if (revoke_old) ZOO_TRY_VOID(in_force(written));
  return written;
}

Result<api::Tenant> TenantServiceImpl::revoke(std::string_view id, const RevokeRequest& request) {
  ZOO_TRY_VOID(check_administered(id));
  ZOO_TRY(const auto known, certificates(id));
  std::vector<api::RevokedCertificate> revoked;
  for (const auto& text : request.serials) {
    ZOO_TRY(const auto serial, read_serial(text));
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) {
      return each.certificate.serial == serial;
    });
    if (found == known.end()) {
      return fail(Code::not_found,
                  "tenant '{}' has no certificate {}: see zooctl tenant certificates {}", id,
                  serial, id);
    }
    revoked.push_back({serial, found->certificate.expires});
  }
  if (request.dry_run) return read_tenant(parts_.store, id);
  ZOO_TRY(const auto written, refuse(id, revoked, request.all));
  controller_.wake(id); // which makes a new one, if the kept one is among them
  ZOO_TRY_VOID(in_force(written));
  return written;
}

Result<api::Tenant> TenantServiceImpl::refuse(std::string_view id,
                                              const std::vector<api::RevokedCertificate>& revoked,
                                              bool everything) {
  const auto now = now_text();
  bool too_many = false;
  ZOO_TRY(const auto written, change_tenant(parts_.store, id, {}, [&](api::Tenant& tenant) -> bool {
            auto& all = tenant.credentials.revoked;
            const auto before = tenant.credentials;
            for (const auto& each : revoked)
              if (!tenant.credentials.revokes(each.serial)) all.push_back(each);
            // Not sooner: what has ended by a clock that is ahead would be good again afterwards.
            if (all.size() > k_most_revoked)
              std::erase_if(all, [&](const auto& each) { return each.expiry <= now; });
            if (everything) {
              ++tenant.credentials.epoch;
              tenant.credentials.not_before = now;
              all.clear();
            }
            too_many = all.size() > k_most_revoked;
            return !too_many && tenant.credentials != before;
          }));
  if (too_many) {
    return fail(Code::invalid,
                "tenant '{}' has {} certificates revoked one by one, which is the most: revoke all",
                id, k_most_revoked);
  }
  log::info("tenants", "tenant {}: {} revoked", id,
            everything ? std::string("all its credentials are")
                       : fmt::format("{} certificate(s) are", revoked.size()));
  return written;
}

} // namespace zoo::tenants
