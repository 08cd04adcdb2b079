// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"
#include "daemon/tenants/certificates.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zoo::tenants {

struct TenantPage {
  std::vector<api::Tenant> items;
  std::int64_t revision = 0; ///< resourceVersion of the list
  std::string next;          ///< continue after this ID; "" = complete
};

/// One change of a Tenant, in revision order without gaps.
struct TenantChange {
  enum class Type { added, modified, deleted } type = Type::added;
  api::Tenant tenant;
};

struct KubeconfigRequest {
  std::string user = "admin";
  std::vector<std::string> groups; ///< `system:` groups are refused
  bool administrator = true;       ///< the tenant's super-user; false for --user / --group exports
  std::chrono::seconds ttl{};      ///< 0 = tenants.certificate_validity
  std::string server;              ///< "" = the advertised address
};

struct CertificateStatus {
  IssuedCertificate certificate;
  bool revoked = false;
};

/// What a Tenant must be for a deletion to begin; empty: it does not matter.
struct Preconditions {
  std::string uid, resource_version;
};

/// Which of a tenant's credentials are taken back.
struct RevokeRequest {
  std::vector<std::string> serials;
  bool all = false;     ///< every certificate, and every ServiceAccount's token, made until now
  bool dry_run = false; ///< all is checked, nothing is revoked
};

/// One finding of `zooctl doctor`.
struct Finding {
  enum class Level { ok, warning, problem } level = Level::ok;
  std::string subject; ///< what was looked at
  std::string message; ///< what is so
  std::string remedy;  ///< what to do next; "" if ok
};

/// A live watch; destroying it ends it.
class Subscription {
public:
  virtual ~Subscription() = default;
};

/// What is known of all tenants together.
struct Census {
  std::map<api::Phase, std::size_t> phases; ///< those that there are; never Phase::none
  std::size_t expiring = 0;                 ///< with a certificate that ends soon (k_expiring)
  std::vector<std::string> expiring_ids;    ///< of these k_most_named at most

  static constexpr std::size_t k_most_named = 1'000;
  void add(std::string_view id, api::Phase phase, bool ends_soon) {
    ++phases[phase == api::Phase::none ? api::Phase::pending : phase];
    if (ends_soon && ++expiring <= k_most_named) expiring_ids.emplace_back(id);
  }
};

/// What the admin API can do with tenants. Blocking (store and sometimes upstream): called from the
/// admin API's worker threads, never from an event loop. Thread-safe. All errors carry a sentence
/// for the administrator.
class TenantService {
public:
  virtual ~TenantService() = default;

  /// Validates, checks that nothing upstream carries the prefix, writes the record (phase Pending)
  /// and wakes the controller. `dry_run` does all but write. Code::invalid, already_exists,
  /// conflict.
  virtual Result<api::Tenant> create(api::Tenant wanted, bool dry_run) = 0;
  virtual Result<api::Tenant> get(std::string_view id) = 0;
  virtual Result<TenantPage> list(std::string_view after, std::size_t limit) = 0;
  /// Replaces metadata (labels, annotations) and spec; compares resource_version if it is not 0.
  virtual Result<api::Tenant> update(api::Tenant wanted, bool dry_run) = 0;
  /// Marks for deletion (phase Deleting) and wakes the controller; the record goes last. The
  /// Tenant must be as `expected` says at the moment of the write: else Code::conflict.
  virtual Result<api::Tenant> remove(std::string_view id, const Preconditions& expected,
                                     bool dry_run) = 0;
  /// Every change after `revision` (0 = from now). Code::expired if that is too long ago. The
  /// callback comes on a store thread and must not block.
  virtual Result<std::unique_ptr<Subscription>>
  watch(std::int64_t revision, std::function<void(const TenantChange&)> on_change) = 0;

  /// A kubeconfig with a fresh key and certificate (the key is not kept).
  virtual Result<std::string> kubeconfig(std::string_view id, const KubeconfigRequest& request) = 0;
  /// The tenant's stored administrator kubeconfig, base64, for annotation
  /// kubezoo.io/tenant.kubeconfig.base64 on GET of one Tenant; "" if not issued yet.
  virtual Result<std::string> stored_kubeconfig(std::string_view id) = 0;

  /// Makes a new certificate for the administrator; the one before stays valid unless it is
  /// revoked here. What is revoked is refused when the call returns.
  virtual Result<api::Tenant> rotate(std::string_view id, bool revoke_old, bool dry_run) = 0;
  /// Code::not_found for a serial that the tenant has not; Code::invalid for too many.
  virtual Result<api::Tenant> revoke(std::string_view id, const RevokeRequest& request) = 0;
  /// The certificates that a tenant has been given and that have not expired, by expiry.
  virtual Result<std::vector<CertificateStatus>> certificates(std::string_view id) = 0;

  virtual Result<Census> census() = 0;

  virtual std::vector<Finding> doctor() = 0;
};

} // namespace zoo::tenants
