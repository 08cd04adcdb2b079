// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/api/tenant.hpp"
#include "common/base/result.hpp"
#include "common/crypto/certificate.hpp"
#include "daemon/store/store.hpp"
#include "daemon/tenants/identity.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What certificates a tenant has been given: kind "certificate" of the store, key "<id>/<serial>".
/// For people, who must know a serial to revoke it; authentication reads the TenantDirectory alone.
/// Blocking (store); any thread.
namespace zoo::tenants {

inline constexpr std::string_view k_certificate_kind = "certificate";
/// Kept of one tenant; beyond it the one that ends first is forgotten (it can still be revoked with
/// all the others).
inline constexpr std::size_t k_most_certificates = 512;
/// Revoked one by one; beyond it only all at once.
inline constexpr std::size_t k_most_revoked = 256;

struct IssuedCertificate {
  std::string serial; ///< lower-case hex
  std::string user;
  std::vector<std::string> groups;
  std::string issued, expires; ///< RFC 3339
  std::string source;          ///< "administrator" (the kept one), "export" or "request"
  std::string uid;             ///< of the tenant
  std::int64_t epoch = 0;
  /// Is its holder the tenant's super-user?
  bool administrator() const {
    return std::find(groups.begin(), groups.end(), k_tenant_admin_group) != groups.end();
  }
};

/// What a certificate says of itself. Code::unauthorized for one that is no tenant's.
Result<IssuedCertificate> describe_certificate(const crypto::Certificate& certificate,
                                               std::string_view source);

/// Before it is handed out. Forgets what has expired, if there are too many.
Result<void> record_certificate(store::Store& store, std::string_view id,
                                const IssuedCertificate& issued);

/// Those of this tenant that have not expired, by expiry. Records that cannot be read are left out.
Result<std::vector<IssuedCertificate>> recorded_certificates(store::Store& store,
                                                             const api::Tenant& tenant);

/// All of an ID, at its end.
Result<void> forget_certificates(store::Store& store, std::string_view id);

/// Is this one refused, leaving its dates aside?
bool is_revoked(const api::Tenant& tenant, const IssuedCertificate& issued);

/// "0A:1b.." as openssl and browsers show it -> "0a1b..". Code::invalid for what is no serial.
Result<std::string> read_serial(std::string_view text);

inline constexpr std::string_view k_expiring = "CertificateExpiring"; ///< a condition

/// Sets condition CertificateExpiring from what is known: certificates made for longer than twice
/// `warning` of which less than that is left.
void judge_expiry(api::Tenant& tenant, const std::vector<IssuedCertificate>& known,
                  std::chrono::seconds warning, std::string_view now);

} // namespace zoo::tenants
