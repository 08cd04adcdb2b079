// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/tenants/cluster_tenants.hpp"
#include "daemon/tenants/controller.hpp"
#include "daemon/tenants/service.hpp"
#include "daemon/tenants/survey.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::upstream {
class Credential;
}

namespace zoo::tenants {

/// TenantService over the store, the PKI and the upstream, with the controller inside. Made by app
/// after the credential and the listeners (their ports are in `settings`), destroyed before them.
class TenantServiceImpl final : public TenantService {
public:
  /// `credential`: for doctor; null in tests that have none.
  TenantServiceImpl(ControllerParts parts, Settings settings,
                    const upstream::Credential* credential = nullptr);
  ~TenantServiceImpl() override;

  Result<void> start(); ///< the controller's threads
  /// What status.usage of a Tenant is; before start(). Called on any thread that asks.
  using Usage = std::function<std::string(const api::Tenant&)>;
  void set_usage(Usage usage) { usage_ = std::move(usage); }
  /// What else there is to find, of certificates for one; before start(). Called by doctor().
  using Findings = std::function<std::vector<Finding>()>;
  void set_findings(Findings findings) { findings_ = std::move(findings); }
  void set_policy(Policy policy) { controller_.set_policy(std::move(policy)); } ///< any thread

  Result<api::Tenant> create(api::Tenant wanted, bool dry_run) override;
  Result<api::Tenant> get(std::string_view id) override;
  Result<TenantPage> list(std::string_view after, std::size_t limit) override;
  Result<api::Tenant> update(api::Tenant wanted, bool dry_run) override;
  Result<api::Tenant> remove(std::string_view id, const Preconditions& expected,
                             bool dry_run) override;
  Result<std::unique_ptr<Subscription>>
  watch(std::int64_t revision, std::function<void(const TenantChange&)> on_change) override;
  Result<std::string> kubeconfig(std::string_view id, const KubeconfigRequest& request) override;
  Result<std::string> stored_kubeconfig(std::string_view id) override;
  Result<api::Tenant> rotate(std::string_view id, bool revoke_old, bool dry_run) override;
  Result<api::Tenant> revoke(std::string_view id, const RevokeRequest& request) override;
  Result<std::vector<CertificateStatus>> certificates(std::string_view id) override;
  Result<Census> census() override; ///< from the directory
  std::vector<Finding> doctor() override;

  /// The Tenants of virtual clusters; as long as this.
  ClusterTenants& of_clusters() { return of_clusters_; }

  // See Controller; any thread.
  void sign_soon(std::string_view id) { controller_.sign_soon(id); }
  void has_webhooks(std::string_view id) { controller_.has_webhooks(id); }
  void touch(std::string_view id) { controller_.touch(id); }
  void relay_changed() { controller_.relay_changed(); }
  void touch_all() { controller_.touch_all(); }
  void lead() { controller_.lead(); }
  /// What the last doctor() found; nullopt: nobody has asked yet.
  struct FindingCounts {
    std::chrono::steady_clock::time_point when;
    std::size_t ok = 0, warnings = 0, problems = 0;
  };
  std::optional<FindingCounts> found() const; ///< any thread
  std::uint64_t looks() const { return controller_.looks(); }
  reconcile::Counts counts() const { return controller_.counts(); }

private:
  /// A client for one call: kept-alive ones are used again.
  class Lease;
  /// Waits until authentication knows what was written.
  Result<void> in_force(const api::Tenant& tenant) const;
  Result<void> at_all_doors(const api::Tenant& tenant) const;
  std::string compose(std::string_view id, std::string_view user, std::string_view server,
                      std::string certificate_pem, Secret key_pem) const;
  bool hears_changes() const;
  /// False: it cannot be asked at all.
  bool examine_upstream(upstream::ControlApi& api, std::vector<Finding>& out) const;
  void examine_tenants(upstream::ControlApi& api, std::vector<Finding>& out) const;

  /// Records that these, or all of the tenant's, are refused.
  Result<api::Tenant> refuse(std::string_view id,
                             const std::vector<api::RevokedCertificate>& revoked, bool everything);

  Result<std::string> claimed_volume(upstream::ControlApi& api, std::string_view id);
  Result<api::Tenant> make(api::Tenant tenant, bool dry_run);
  Result<api::Tenant> end(std::string_view id, const Preconditions& expected, bool dry_run);
  Result<void> check_administered(std::string_view id) const;

  /// What ClusterTenants does.
  class OfClusters final : public ClusterTenants {
  public:
    explicit OfClusters(TenantServiceImpl& service) : service_(service) {}
    Result<bool> make(std::string_view id, std::string_view owner) override;
    Result<std::optional<std::string>> remove(std::string_view id) override;
    Result<void> open_namespace(upstream::ControlApi& api, std::string_view id,
                                const std::string& upstream_name) override;

  private:
    TenantServiceImpl& service_;
  };

  ControllerParts parts_;
  const upstream::Credential* credential_;
  Usage usage_;
  Findings findings_;
  mutable std::mutex found_mutex_; ///< for a few instructions
  std::optional<FindingCounts> found_;
  std::mutex clients_mutex_;
  std::vector<std::unique_ptr<upstream::ControlApi>> clients_;
  Survey survey_;
  OfClusters of_clusters_{*this};
  Controller controller_; // last: its threads end first
};

class TenantServiceImpl::Lease {
public:
  explicit Lease(TenantServiceImpl& owner);
  ~Lease();
  Lease(const Lease&) = delete;
  upstream::ControlApi& operator*() const { return *api_; }

private:
  TenantServiceImpl& owner_;
  std::unique_ptr<upstream::ControlApi> api_;
};

} // namespace zoo::tenants
